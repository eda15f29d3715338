// The parts of which a block is made, and calls that block or do not: their instructions, loads and stores
// are counted by ./run tables (Draves et al. 1991, Table 4), so what is measured does nothing else.
//
// The parts are those of the internal layer (continuation.hpp), done by a fiber to itself: it loses its stack
// to itself and gets it back. `loop` is what the other three have around them:
//
//   loop     names a continuation
//   handoff  the same; stack_detach and stack_attach
//   leave    makes a continuation, with a word of state; the same two
//   call     as handoff, but call_continuation, which attaches, and calls the function
//
// The calls: one that blocks (`yield`: of two fibers), one that blocks and one that wakes (`wake`: two fibers
// that release each other's semaphore), one that finds what it wants (`free`: a permit of a semaphore); each
// also by a fiber that has no stack where it blocks (`-continuation`).
#include <string>

#include "../peers/sennit-kinds.hpp"
#include "../support/bench.hpp"
#include "sennit/become.hpp"

namespace {

using sennit::continuation;
using count_type = std::uint64_t;

// Of each part or call at a time: the beginnings and ends of threads are not to count.
constexpr count_type at_a_time = 10;

// ---- The parts.

continuation counted(count_type* calls) {
  ++*calls;
  return {};
}

// Runs `part(fiber, its frame, a continuation that is made already)` again and again, in a fiber.
template <class Part>
void measure_part(bench::program& program, const char* name, Part part) {
  program.measure(name, {}, "part", at_a_time, [&](count_type count) {
    sennit::local::spawn([&] {
      namespace inner = sennit::detail;
      inner::fiber& self = *inner::this_worker()->ready.current;
      inner::coroutine_frame& frame = *self.frame;
      count_type calls = 0;
      continuation next = sennit::become(sennit::this_fiber::yielding(), counted, &calls);
      inner::continuation_code& code =
          inner::blocked<decltype(sennit::this_fiber::yielding()), decltype(&counted), count_type*>::code;
      for (count_type i = 0; i < count * at_a_time; ++i) {
        inner::continuation_access::finish(next, code);
        part(self, frame, next, calls);
        bench::touch_memory();
      }
    }).join();
  });
}

void measure_parts(bench::program& program) {
  namespace inner = sennit::detail;
  using inner::coroutine_frame;
  measure_part(program, "loop", [](inner::fiber&, coroutine_frame&, continuation&, count_type&) {});
  measure_part(program, "handoff",
               [](inner::fiber& self, coroutine_frame& frame, continuation& next, count_type&) {
                 inner::stack_detach(self, next);
                 inner::stack_attach(self, frame, nullptr);
               });
  measure_part(program, "leave",
               [](inner::fiber& self, coroutine_frame& frame, continuation&, count_type& calls) {
                 continuation made = sennit::become(sennit::this_fiber::yielding(), counted, &calls);
                 inner::stack_detach(self, made);
                 inner::stack_attach(self, frame, nullptr);
               });
  measure_part(program, "call",
               [](inner::fiber& self, coroutine_frame& frame, continuation& next, count_type& calls) {
                 const count_type before = calls;
                 inner::stack_detach(self, next);
                 static_cast<void>(inner::call_continuation(self, frame));
                 bench::require(calls == before + 1, "the continuation was not called");
               });
}

// ---- Calls.

using local = bench::local_kind;
using parallel = bench::parallel_kind;

// Two fibers that do the same, `count` times each.
template <class Kind, class Make>
void run_two(Make make) {
  auto one = make(0);
  auto other = make(1);
  one.join();
  other.join();
}

// A fiber that goes round by continuation.
template <class Step>
struct round {
  Step* step;
  count_type left;
  static continuation go(round at) {
    if (at.left-- == 0)
      return {};
    return sennit::become((*at.step)(), go, at);
  }
};

template <class Kind>
void measure_calls(bench::program& program, const std::string& prefix) {
  using semaphore = typename Kind::semaphore;
  const auto fiber_of = [](count_type count, auto& step) {
    return Kind::spawn([count, &step] {
      for (count_type i = 0; i < count * at_a_time; ++i)
        step();
    });
  };
  const auto stackless_fiber_of = [](count_type count, auto& step) {
    using steps = round<std::remove_reference_t<decltype(step)>>;
    return Kind::spawn([count, &step] { return steps::go({&step, count * at_a_time}); });
  };

  program.measure(prefix + "free", {}, "call", at_a_time, [&](count_type count) {
    semaphore plenty(semaphore::max() / 2);
    auto step = [&] { plenty.acquire(); };
    fiber_of(count, step).join();
  });
  program.measure(prefix + "free-continuation", {}, "call", at_a_time, [&](count_type count) {
    semaphore plenty(semaphore::max() / 2);
    auto step = [&] { return plenty.acquiring(); };
    stackless_fiber_of(count, step).join();
  });

  program.measure(prefix + "yield", {}, "call", 2 * at_a_time, [&](count_type count) {
    auto step = [] { Kind::library::yield(); };
    run_two<Kind>([&](int) { return fiber_of(count, step); });
  });
  program.measure(prefix + "yield-continuation", {}, "call", 2 * at_a_time, [&](count_type count) {
    auto step = [] { return sennit::this_fiber::yielding(); };
    run_two<Kind>([&](int) { return stackless_fiber_of(count, step); });
  });

  struct side {
    semaphore* mine;
    semaphore* others;
    void operator()() const {
      others->release();
      mine->acquire();
    }
  };
  struct stackless_side {
    semaphore* mine;
    semaphore* others;
    auto operator()() const {
      others->release();
      return mine->acquiring();
    }
  };
  const auto run_sides = [](auto sides_of, auto start) {
    semaphore all[2] = {semaphore(0), semaphore(0)};
    decltype(sides_of) sides[2] = {{&all[0], &all[1]}, {&all[1], &all[0]}};
    run_two<Kind>([&](int i) { return start(sides[i]); });
  };
  program.measure(prefix + "wake", {}, "call", 2 * at_a_time, [&](count_type count) {
    run_sides(side{}, [&](side& each) { return fiber_of(count, each); });
  });
  program.measure(prefix + "wake-continuation", {}, "call", 2 * at_a_time, [&](count_type count) {
    run_sides(stackless_side{}, [&](stackless_side& each) { return stackless_fiber_of(count, each); });
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "one worker; parallel: the second one is held");
  program.require_one_worker("instructions are counted");
  bench::sennit_local::run([&] {
    measure_parts(program);
    measure_calls<local>(program, "");
  });
  bench::sennit_parallel::run(1, bench::second_worker::held,
                              [&] { measure_calls<parallel>(program, "parallel-"); });
}
