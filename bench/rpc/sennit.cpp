// Sennit: see rpc.hpp. Its ports, in the four ways of the seed: `stack` (both sides have one, and switch to
// each other), `continuation` (neither has one), `queued` (through the run queue), `lrpc` (the caller's fiber
// runs the server's function).
#include "rpc.hpp"

#include "../peers/sennit-in-turn.hpp"
#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/become.hpp"
#include "sennit/local/port.hpp"
#include "sennit/port.hpp"

namespace {

using number = std::uint64_t;

struct local {
  using library = bench::sennit_local;
  using port = sennit::local::port<number, number>;
  using queued_port = sennit::detail::basic_port<number, number, bench::local_in_turn>;
  template <class Body>
  static auto spawn(Body&& body) {
    return sennit::local::spawn(std::forward<Body>(body));
  }
};
struct parallel {
  using library = bench::sennit_parallel;
  using port = sennit::port<number, number>;
  using queued_port = sennit::detail::basic_port<number, number, bench::in_turn>;
  template <class Body>
  static auto spawn(Body&& body) {
    return sennit::spawn(std::forward<Body>(body));
  }
};

template <class Port>
struct stackless_client {
  Port* port;
  number calls = 0;
  number sum = 0;

  static sennit::continuation ask(stackless_client* self) {
    if (self->calls == 0)
      return {};
    return sennit::become(
        self->port->calling(--self->calls),
        [](stackless_client* me, typename Port::answer&& answer) {
          me->sum += answer.get() - me->calls;
          return ask(me);
        },
        self);
  }
};

template <class Port>
sennit::continuation answer(Port* port, typename Port::incoming&& next) {
  if (!next)
    return {};
  next.reply(*next + 1);
  return sennit::become(
      port->receiving(),
      [](Port* at, typename Port::incoming&& request) { return answer(at, std::move(request)); }, port);
}

template <class Kind, class Port>
auto serve_on_a_stack(Port& port) {
  return Kind::spawn([&port] { port.serve([](number request) { return request + 1; }); });
}

template <class Kind>
void measure(bench::program& program, const std::string& prefix) {
  using port = typename Kind::port;
  const auto named = [&prefix](const char* variant) { return prefix + variant; };
  // Those that need least memory first.
  bench::measure_clients<stackless_client<port>, port>(
      program, named("continuation").c_str(), {INT64_MAX, ""},
      [](port& at) {
        return Kind::spawn(sennit::become(
            at.receiving(),
            [](port* to, typename port::incoming&& request) { return answer(to, std::move(request)); }, &at));
      },
      [](std::size_t, stackless_client<port>& each) {
        return Kind::spawn(
            sennit::become(sennit::this_fiber::yielding(), stackless_client<port>::ask, &each));
      });
  bench::measure_rpc<typename Kind::library, port>(program, named("stack").c_str(),
                                                   [](port& at) { return serve_on_a_stack<Kind>(at); });
  bench::measure_rpc<typename Kind::library, typename Kind::queued_port>(
      program, named("queued").c_str(),
      [](typename Kind::queued_port& at) { return serve_on_a_stack<Kind>(at); });
  bench::measure_rpc<typename Kind::library, port>(program, named("lrpc").c_str(), [](port& at) {
    return Kind::spawn([&at] { at.serve_in_callers([](number request) { return request + 1; }); });
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "local::port; port, where on 1 worker the second one is held; stacks of 8 KiB",
                         bench::rpc_parameters());
  if (program.workers() == 1)
    bench::sennit_local::run([&] { measure<local>(program, ""); });
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held,
                              [&] { measure<parallel>(program, "parallel-"); });
}
