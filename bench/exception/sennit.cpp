// Sennit: see exception.hpp. An exception server, a fiber of the same worker, is asked: `stack`, it has one
// while it waits; `continuation`, it has none.
#include "exception.hpp"

#include <stop_token>
#include <string>
#include <utility>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/become.hpp"
#include "sennit/local/exception_server.hpp"
#include "sennit/stop_guard.hpp"

namespace {

struct local {
  using server = sennit::local::exception_server;
  using guard = sennit::local::exception_guard;
  template <class Body>
  static auto spawn(Body body) {
    return sennit::local::spawn(std::move(body));
  }
};
struct parallel {
  using server = sennit::exception_server;
  using guard = sennit::exception_guard;
  template <class Body>
  static auto spawn(Body body) {
    return sennit::spawn(std::move(body), {.near = 0});
  }
  static auto spawn(sennit::continuation begins) { return sennit::spawn(std::move(begins)); }
};

template <class Fault>
void mend(Fault&& fault) {
#if SENNIT_REDIRECTS
  if (fault.kind() == sennit::fault_kind::instruction)
    fault.registers().rip += bench::illegal_instruction_size;
  else
#endif
    bench::closed_pages::open(fault.address());
  fault.reply(sennit::verdict::resume);
}

// A server that has no stack while it waits.
template <class Kind>
struct stackless {
  typename Kind::server* server;
  const bool* ended;

  static sennit::continuation answer(stackless me, typename Kind::server::fault&& fault) {
    mend(fault);
    return *me.ended ? sennit::continuation() : me.wait();
  }
  sennit::continuation wait() { return sennit::become(server->receiving(), answer, *this); }
};

// Whose server has a stack.
template <class Kind>
void measure_stack(bench::program& program, const char* variant) {
  typename Kind::server server;
  std::stop_source end;
  auto mends = Kind::spawn([&] {
    const sennit::stop_guard ends(end.get_token());
    for (;;)
      mend(server.receive());
  });
  {
    const typename Kind::guard guard(server);
    bench::measure_exception(program, variant);
  }
  end.request_stop();
  mends.join();
}

// Whose server has none while it waits. (The faulting fiber has one in any case: its instruction is to be
// done again.)
template <class Kind>
void measure_continuation(bench::program& program, const char* variant) {
  typename Kind::server server;
  bool ended = false;
  auto mends = Kind::spawn(stackless<Kind>{&server, &ended}.wait());
  {
    const typename Kind::guard guard(server);
    bench::measure_exception(program, variant);
    ended = true;
    const bench::closed_pages last;
    last.touch_one();
  }
  mends.join();
}

template <class Kind>
void measure(bench::program& program, const std::string& prefix) {
  measure_stack<Kind>(program, (prefix + "stack").c_str());
  measure_continuation<Kind>(program, (prefix + "continuation").c_str());
  program.unsupported(
      (prefix + "queued").c_str(), {},
      "whom a fault or its verdict wakes goes first: nothing of it waits for a turn in a run queue");
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
