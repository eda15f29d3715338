// Servers and their callers as users write them, to be compiled with all warnings by ./check, for one pair of
// types at a time: what a compiler inlines, and so what it warns of, depends on what else there is.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/future.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/future.hpp"
#include "sennit/local/port.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/port.hpp"
#include "sennit/runtime.hpp"

namespace kind = KIND;  // sennit, or sennit::local
using request = REQUEST;
using reply = REPLY;
using port = kind::port<request, reply>;

static std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
}

struct server {
  port* at;
  std::size_t size;
};

static sennit::continuation serve(server me, port::incoming next) {
  if (!next)
    return {};
  me.size += next->size();
  next.reply(reply());
  return sennit::become(me.at->receiving(), serve, me);
}
static sennit::continuation serve_until(server me, port::incoming next) {
  if (!next)
    return {};
  me.size += next->size();
  next.reply(reply());
  return sennit::become(me.at->receiving_until(soon()), serve_until, me);
}
static sennit::continuation call(port* at, port::answer got) {
  static_cast<void>(got.get());
  return sennit::become(at->calling_until(request(), soon()), call, at);
}

static sennit::continuation receive(kind::channel<request>* from, std::optional<request> got) {
  if (!got || got->empty())
    return {};
  return sennit::become(from->receiving(), receive, from);
}
static sennit::continuation receive_until(kind::channel<request>* from, std::optional<request> got) {
  if (!got || got->empty())
    return {};
  return sennit::become(from->receiving_until(soon()), receive_until, from);
}

static void take(kind::future<request> ready) {
  static_cast<void>(ready.get());
}
static kind::future<request> await(kind::future<request> other) {
  co_return co_await other;
}

int main() {
  kind::runtime runtime;
  return runtime.run([] {
    port calls;
    auto stackless = kind::spawn(sennit::become(calls.receiving(), serve, server{&calls, 0}));
    auto hasty = kind::spawn(sennit::become(calls.receiving_until(soon()), serve_until, server{&calls, 0}));
    auto caller = kind::spawn(sennit::become(calls.calling(request()), call, &calls));
    static_cast<void>(calls.call(request()));
    static_cast<void>(calls.call_until(request(), soon()));
    if (auto next = calls.receive_until(soon()))
      next.reply(reply());
    auto served = calls.receive();
    while (served && calls.reply_and_receive(served, reply())) {
    }
    calls.close();

    kind::channel<request> values(1);
    auto receiver = kind::spawn(sennit::become(values.receiving(), receive, &values));
    auto timed = kind::spawn(sennit::become(values.receiving_until(soon()), receive_until, &values));
    values.send(request());
    std::size_t size = 0;
    for (const request& each : values)
      size += each.size();
    if (auto last = values.receive_until(soon()))
      size += last->size();

    kind::promise<request> promise;
    auto taker = kind::spawn(sennit::become(await(promise.get_future()).waiting(), take));
    promise.set_value(request());
    return size == 0 ? 0 : 1;
  });
}
