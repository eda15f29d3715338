// n clients call one server, which answers at once: one call and its reply is one operation.
//
// `bytes`: by how much memory has grown at most, for each client. A client is blocked in its call most of the
// time when there are many.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

/// The parameter every program of this workload takes.
inline std::vector<parameter> rpc_parameters() {
  return {{"clients", {1, 100'000}, {1, 1'000}}};
}

/// Of each client at a time: its fiber's beginning and end are not to count.
inline constexpr std::uint64_t calls_at_a_time = 20;

/// A client with a stack. `Port` has `std::uint64_t call(std::uint64_t)`, which returns its argument plus 1.
template <class Port>
struct client {
  Port* port;
  std::uint64_t calls = 0;
  std::uint64_t sum = 0;

  static BENCH_INLINE void run(void* argument) {
    auto& self = *static_cast<client*>(argument);
    for (std::uint64_t i = 0; i < self.calls; ++i)
      self.sum += self.port->call(i) - i;
  }
};

/// The most clients a library is asked for, and why no more.
struct client_limit {
  long n;
  const char* reason;
};

/// Measures n clients. `serve(port)` starts who serves, and returns what is to be joined when the port has
/// been closed; `start(i, client)` starts the i-th client.
template <class Client, class Port, class Serve, class Start>
void measure_clients(program& program, const char* variant, const client_limit& limit, Serve serve,
                     Start start) {
  for (const long n : program.values("clients")) {
    const params at{{"clients", n}};
    if (!program.wants(variant, at))
      continue;
    if (n > limit.n) {
      program.unsupported(variant, at, limit.reason);
      continue;
    }
    Port port;
    auto server = serve(port);
    std::vector<Client> clients(static_cast<std::size_t>(n), Client{&port});
    const auto operations = static_cast<double>(n) * static_cast<double>(calls_at_a_time);
    program.measure(variant, at, "call", operations, [&](std::uint64_t count) {
      std::vector<decltype(start(0, clients.front()))> running;
      running.reserve(clients.size());
      for (std::size_t i = 0; i < clients.size(); ++i) {
        clients[i].calls = count * calls_at_a_time;
        clients[i].sum = 0;
        running.push_back(start(i, clients[i]));
      }
      for (std::size_t i = 0; i < clients.size(); ++i) {
        running[i].join();
        require(clients[i].sum == count * calls_at_a_time, "a reply was lost");
      }
    });
    program.report_memory(variant, at, "client", static_cast<double>(n));
    port.close();
    server.join();
  }
}

/// The same with fibers that have stacks.
template <class Library, class Port, class Serve>
void measure_rpc(program& program, const char* variant, Serve serve,
                 const client_limit& limit = {INT64_MAX, ""}, std::size_t stack_size = 8 * 1024) {
  measure_clients<client<Port>, Port>(
      program, variant, limit, serve, [stack_size](std::size_t i, client<Port>& each) {
        return typename Library::fiber(distinct_entry<client<Port>>(i), &each, stack_size);
      });
}

/// A port made of the library's mutex and condition variables, as its users have to: callers wait for their
/// turn, then for their reply.
template <class Library>
class condition_port {
public:
  BENCH_INLINE std::uint64_t call(std::uint64_t request) {
    entry mine{request};
    mutex_.lock();
    (first_ == nullptr ? first_ : last_->next) = &mine;
    last_ = &mine;
    asked_.notify_one();
    while (!mine.done)
      mine.answered.wait(mutex_);
    mutex_.unlock();
    return mine.value;
  }
  BENCH_INLINE void serve() {
    mutex_.lock();
    for (;;) {
      while (first_ == nullptr && !closed_)
        asked_.wait(mutex_);
      if (first_ == nullptr)
        break;
      entry& call = *first_;
      first_ = call.next;
      ++call.value;
      call.done = true;
      call.answered.notify_one();
    }
    mutex_.unlock();
  }
  void close() {
    mutex_.lock();
    closed_ = true;
    mutex_.unlock();
    asked_.notify_one();
  }

  static BENCH_INLINE void run(void* argument) { static_cast<condition_port*>(argument)->serve(); }

private:
  struct entry {
    std::uint64_t value;
    bool done = false;
    entry* next = nullptr;
    typename Library::condition_variable answered{};
  };
  typename Library::mutex mutex_;
  typename Library::condition_variable asked_;
  entry* first_ = nullptr;
  entry* last_ = nullptr;
  bool closed_ = false;
};

template <class Library>
void measure_condition_port(program& program, const char* variant, std::size_t stack_size,
                            const client_limit& limit = {INT64_MAX, ""}) {
  using port = condition_port<Library>;
  measure_rpc<Library, port>(
      program, variant, [](port& at) { return typename Library::fiber(distinct_entry<port>(1), &at); }, limit,
      stack_size);
}

}  // namespace bench
