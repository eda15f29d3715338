// A model checker for lock-free code: it runs a scenario in every way that its threads and their memory
// allow.
//
//   const model::report r = model::explore("message passing", {}, [](model::run& run) {
//     model::atomic<int> ready{0};
//     model::plain<int> data{0};
//     run.thread([&] { data = 1; ready.store(1, std::memory_order_release); });
//     run.thread([&] {
//       if (ready.load(std::memory_order_acquire) == 1)
//         MODEL_CHECK(data == 1);
//     });
//     run.join();
//   });
//   EXPECT_FALSE(r.failed) << r;
//
// Structures are templates on their memory (sennit/detail/arch/native_memory.hpp) and are tested as they are,
// with model::memory in its place. The threads under test are Sennit's own contexts. Each atomic operation is
// a point where another thread may continue. The search is depth first, with no state kept except the path.
// It is complete for up to `bound` switches away from a thread that could have continued (preemptions).
// Bounds are taken in turn, so the first failure has the fewest. A scenario must do the same when it is run
// again: no clocks, and no decisions that depend on the results of malloc.
//
// The model: per location, an order of its stores; per thread, a view, which is the position in each order
// that it must have seen. A load reads any store that its thread's view has not passed; a read-modify-write
// reads the latest. A release store publishes its thread's view, and an acquire load that reads it joins it.
// Fences do the same for the relaxed operations before or after them; read-modify-writes continue the release
// sequence. seq_cst operations and fences share one more view. A light fence and a heavy one
// (native_memory.hpp) guarantee only that the later sees all that was seen at the earlier; they neither
// acquire nor release. This is the view machine of "promising semantics" (Kang, Hur, Lahav, Vafeiadis, Dreyer
// 2017) without promises; searching C++ programs by it follows CDSChecker (Norris, Demsky 2013), the bound
// CHESS (Musuvathi, Qadeer 2007).
//
// The checker finds: a MODEL_CHECK that does not hold; data races on model::plain, by happens-before, in any
// order of the accesses; deadlock, including a lost wake (no thread can continue, and some wait at a
// model::gate or spin with memory::yield_thread on a location that no thread changes); an atomic that is used
// after it was destroyed; livelock (an execution of more steps than `most_steps`).
//
// What is not covered:
//   - load buffering and values out of thin air: a load never reads what comes after it in the execution;
//   - stores to one location that end up in another order than they were executed (2+2W);
//   - seq_cst is somewhat stronger than in C++20: the order of execution is the order that they agree on;
//   - compare_exchange_weak never fails for no reason; consume is acquire; no object of mixed sizes, none
//     larger than a word;
//   - reads after a spin: of the location that a thread spun on, only the latest store (or loops would never
//     end);
//   - a gate that wakes synchronises, as an eventfd does, which is more than a futex promises;
//   - more than 4 threads, 27 atomics.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "machine.hpp"
#include "sennit/detail/arch/word.hpp"

namespace model {

// SENNIT_MODEL_BOUND in the environment, at least 1; else 2. `./check model` goes further than the presets'
// tests.
unsigned default_bound();

struct options {
  unsigned bound = default_bound();
  unsigned most_steps = 1000;
  const weakening* weaken = nullptr;
  std::string replay{};  // report.choices of a failure: runs only that execution
  bool quiet = false;    // prints no coverage
};

struct report {
  bool failed = false;
  std::string failure;
  std::string trace;    // of the failure: one operation a line
  std::string choices;  // that lead to it
  std::uint64_t executions = 0;
  unsigned depth = 0;     // most steps in an execution
  unsigned bound = 0;     // reached
  bool complete = false;  // there is nothing beyond the bound
  std::vector<order_at> orders;
};
std::ostream& operator<<(std::ostream& out, const report& r);

// One execution of a scenario, which is called again for each. Threads see all that the scenario does before
// it adds them; after join() it sees all that they did.
class run {
public:
  explicit run(machine& m) : machine_(m) {}
  void thread(std::function<void()> body) { machine_.add_thread(std::move(body)); }
  void join() { machine_.join(); }

private:
  machine& machine_;
};
using scenario = std::function<void(run&)>;

report explore(std::string_view name, const options& how, const scenario& what);

// Explores the scenario once with each order that is written in `file` (the end of its name) made weaker: one
// step, and relaxed. `survivors`: the weaker orders that nothing went wrong with, "what: written -> weaker".
struct weakened {
  report correct;
  unsigned tried = 0;
  std::vector<std::string> survivors;
};
weakened weaken_each(std::string_view name, std::string_view file, const options& how, const scenario& what);

#define MODEL_CHECK(condition) \
  ::model::machine::now->check((condition), #condition, std::source_location::current())

using here = std::source_location;

// std::atomic, on the machine.
template <class T>
class atomic {
public:
  atomic() noexcept : atomic(T()) {}
  atomic(T initial) noexcept : location_(machine::now->add_location(to(initial))) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  ~atomic() { machine::now->end_location(location_); }

  T load(order o = order::seq_cst, here where = here::current()) const {
    return from(machine::now->load(location_, o, where));
  }
  void store(T value, order o = order::seq_cst, here where = here::current()) {
    machine::now->store(location_, to(value), o, where);
  }
  T exchange(T value, order o = order::seq_cst, here where = here::current()) {
    return change([value](T) { return value; }, o, where);
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                               here where = here::current()) {
    std::uintptr_t word = to(expected);
    const bool done = machine::now->compare_exchange(location_, word, to(desired), success, failure, where);
    expected = from(word);
    return done;
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                             here where = here::current()) {
    return compare_exchange_strong(expected, desired, success, failure, where);
  }
  T fetch_add(T n, order o = order::seq_cst, here where = here::current()) {
    return change([n](T old) { return static_cast<T>(old + n); }, o, where);
  }
  T fetch_sub(T n, order o = order::seq_cst, here where = here::current()) {
    return change([n](T old) { return static_cast<T>(old - n); }, o, where);
  }
  T fetch_or(T bits, order o = order::seq_cst, here where = here::current()) {
    return change([bits](T old) { return static_cast<T>(old | bits); }, o, where);
  }
  T fetch_and(T bits, order o = order::seq_cst, here where = here::current()) {
    return change([bits](T old) { return static_cast<T>(old & bits); }, o, where);
  }

private:
  static std::uintptr_t to(T value) { return sennit::detail::to_word(value); }
  static T from(std::uintptr_t word) { return sennit::detail::from_word<T>(word); }
  template <class Change>
  T change(Change&& c, order o, here where) {
    return from(
        machine::now->update(location_, [&c](std::uintptr_t word) { return to(c(from(word))); }, o, where));
  }
  unsigned location_;
};

// A variable that is not atomic: unordered accesses to it are found.
template <class T>
class plain {
public:
  plain() : plain(T()) {}
  plain(T initial) : value_(std::move(initial)) { machine::now->write(shadow_); }
  plain(const plain& other) : plain(static_cast<T>(other)) {}
  plain& operator=(const plain& other) { return *this = static_cast<T>(other); }
  plain& operator=(T value) {
    machine::now->write(shadow_);
    value_ = std::move(value);
    return *this;
  }
  operator T() const {
    machine::now->read(shadow_);
    return value_;
  }
  T operator->() const
    requires std::is_pointer_v<T>
  {
    return *this;
  }

private:
  T value_;
  mutable shadow shadow_;
};

// What threads sleep on: one that waits sleeps until it is signalled; a signal before that is not lost.
class gate {
public:
  void wait(here where = here::current()) { machine::now->wait(state_, patience::endless, where); }
  // False: the time has passed before.
  bool wait(patience until, here where = here::current()) { return machine::now->wait(state_, until, where); }
  void signal(here where = here::current()) { machine::now->signal(state_, where); }

private:
  gate_state state_;
};

inline void fence(order o, here where = here::current()) {
  machine::now->fence(o, where);
}

inline void light_fence(here where = here::current()) {
  machine::now->light_fence(where);
}
inline void heavy_fence(here where = here::current()) {
  machine::now->heavy_fence(where);
}

// In the place of sennit::detail::native_memory.
struct memory {
  template <class T>
  using atomic = model::atomic<T>;
  template <class T>
  using plain = model::plain<T>;
  static void light_fence(here where = here::current()) { model::light_fence(where); }
  static void free_fence(here where = here::current()) { model::light_fence(where); }
  static void heavy_fence(here where = here::current()) { model::heavy_fence(where); }
  static void yield_thread(here where = here::current()) { machine::now->pause(where); }
};

}  // namespace model
