// Sennit: see exception.hpp. An exception server, a fiber of the same worker, is asked: `stack`, it has one
// while it waits; `continuation`, it has none; `queued`, it has one, and both go through the run queue.
#include "exception.hpp"

#include <string>
#include <utility>

#include "../peers/sennit-in-turn.hpp"
#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/become.hpp"
#include "sennit/local/exception_server.hpp"

namespace {

template <class Policy>
struct exceptions {
  using server = sennit::detail::basic_exception_server<Policy>;
  using guard = sennit::detail::basic_exception_guard<Policy>;
};

struct local {
  using direct = exceptions<sennit::detail::one_thread>;
  using queued = exceptions<bench::local_in_turn>;
  template <class Body>
  static auto spawn(Body body) {
    return sennit::local::spawn(std::move(body));
  }
};
struct parallel {
  using direct = exceptions<sennit::detail::any_thread>;
  using queued = exceptions<bench::in_turn>;
  template <class Body>
  static auto spawn(Body body) {
    return sennit::spawn(std::move(body), {.near = 0});
  }
  static auto spawn(sennit::continuation begins) { return sennit::spawn(std::move(begins)); }
};

template <class Fault>
void mend(Fault&& fault) {
#if SENNIT_REDIRECTS && defined(__x86_64__)
  if (fault.kind() == sennit::fault_kind::instruction)
    fault.registers().rip += bench::illegal_instruction_size;
  else
#endif
    bench::closed_pages::open(fault.address());
  fault.reply(sennit::verdict::resume);
}

// A server that has no stack while it waits.
template <class Server>
struct stackless {
  Server* server;
  const bool* ended;

  static sennit::continuation answer(stackless me, typename Server::fault&& fault) {
    mend(fault);
    return *me.ended ? sennit::continuation() : me.wait();
  }
  sennit::continuation wait() { return sennit::become(server->receiving(), answer, *this); }
};

// Whose server has a stack.
template <class Kind, class Way>
void measure_stack(bench::program& program, const std::string& variant) {
  typename Way::server server;
  auto mends = Kind::spawn([&] {
    while (auto fault = server.receive())
      mend(fault);
  });
  {
    const typename Way::guard guard(server);
    bench::measure_exception(program, variant.c_str());
  }
  server.close();
  mends.join();
}

// Whose server has none while it waits. (The faulting fiber has one in any case: its instruction is to be
// done again.)
template <class Kind>
void measure_continuation(bench::program& program, const std::string& variant) {
  typename Kind::direct::server server;
  bool ended = false;
  auto mends = Kind::spawn(stackless<typename Kind::direct::server>{&server, &ended}.wait());
  {
    const typename Kind::direct::guard guard(server);
    bench::measure_exception(program, variant.c_str());
    ended = true;
    const bench::closed_pages last;
    last.touch_one();
  }
  mends.join();
}

template <class Kind>
void measure(bench::program& program, const std::string& prefix) {
  measure_stack<Kind, typename Kind::direct>(program, prefix + "stack");
  measure_continuation<Kind>(program, prefix + "continuation");
  measure_stack<Kind, typename Kind::queued>(program, prefix + "queued");
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, bench::sennit_version,
      "an exception server on the same worker; parallel on 1 worker: the second one is held");
  program.require_one_worker("the server is on the same worker");
  if (!sennit::serves_faults) {
    program.unsupported("stack", {}, "faults are not served on this instruction set");
    return 0;
  }
  bench::sennit_local::run([&] { measure<local>(program, ""); });
  bench::sennit_parallel::run(1, bench::second_worker::held,
                              [&] { measure<parallel>(program, "parallel-"); });
}
