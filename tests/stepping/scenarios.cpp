// The single-stepped code: each verb of the switch, and the library's code on top of them.
#include <chrono>
#include <stdexcept>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/coroutine.hpp"
#include "sennit/detail/arch/context.h"
#include "sennit/fp_control.h"
#include "sennit/generator.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "stepping.hpp"

namespace {

alignas(16) char stack_memory[3][65536];

template <std::size_t Number>
void* top_of_stack() {
  return stack_memory[Number] + sizeof stack_memory[Number] - 64;
}

sennit_context other;

// ---- The verbs, without the library. ----

void answer(sennit_context from, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t) {
  from = sennit_swapstack(from, 1).from;
  from = sennit_swapstack_call(from, 2).from;
  from = sennit_swapstack_raw(from, 3).from;
  from = sennit_swapstack4(from, 4, 5, 6, 7).from;
  sennit_context self = nullptr;
  from = sennit_swapstack_linking(from, 8, &self).from;
  {
    const sennit::fp_control_guard keeps;  // by which the switches take the way round busy exception globals
    from = sennit_swapstack(from, 9).from;
    from = sennit_swapstack_call(from, 10).from;
    from = sennit_swapstack4(from, 11, 12, 13, 14).from;
    from = sennit_swapstack_linking(from, 15, &self).from;
  }
  sennit_leave(from, 16);
}

void resume_all() {
  sennit_context self = nullptr;
  sennit_context next = other;
  for (int i = 0; i < 4; ++i) {
    next = i % 2 == 0 ? sennit_swapstack(next, 0).from : sennit_swapstack_call(next, 0).from;
  }
  next = sennit_swapstack_linking(next, 0, &self).from;
  {
    const sennit::fp_control_guard keeps;
    for (int i = 0; i < 4; ++i)
      next = sennit_swapstack4(next, 0, 0, 0, 0).from;
  }
  sennit_swapstack(next, 0);
}

void verbs() {
  other = sennit_newstack(top_of_stack<0>(), answer);
  begin_steps();
  resume_all();
  end_steps();
}

#if defined(SENNIT_HAS_SWAPSTACK8)
void answer_eight(sennit_context from, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t,
                  std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t) {
  from = sennit_swapstack8(from, 1, 2, 3, 4, 5, 6, 7, 8).from;
  const sennit::fp_control_guard keeps;
  from = sennit_swapstack8(from, 1, 2, 3, 4, 5, 6, 7, 8).from;
  sennit_leave(from, 0);
}

void eight_words() {
  other = sennit_newstack8(top_of_stack<0>(), answer_eight);
  begin_steps();
  other = sennit_swapstack8(other, 1, 2, 3, 4, 5, 6, 7, 8).from;
  {
    const sennit::fp_control_guard keeps;
    other = sennit_swapstack8(other, 1, 2, 3, 4, 5, 6, 7, 8).from;
  }
  end_steps();
}
#endif

void answer_linked(sennit_context, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t) {
  auto* const top = static_cast<sennit_context*>(top_of_stack<0>());
  for (;;)
    sennit_swapstack_filed(*top, 1, &other);
}

// A backtrace of a context with a resumer continues in that one.
void linked() {
  auto* const top = static_cast<sennit_context*>(top_of_stack<0>());
  other = sennit_newlinked(top, answer_linked);
  begin_steps();
  sennit_swapstack_linking(other, 0, top);
  sennit_swapstack_filed(other, 0, top);
  {
    const sennit::fp_control_guard keeps;
    sennit_swapstack_filed(other, 0, top);
  }
  end_steps();
}

sennit_decision step(sennit_context self, void*) {
  *static_cast<sennit_context*>(top_of_stack<1>()) = self;
  const sennit_context next = other;
  other = self;
  return {next, 0};
}

void suspend_thrice(sennit_context, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t) {
  for (;;)
    sennit_suspend(top_of_stack<1>(), step, nullptr);
}

void scheduler_steps() {
  sennit_end_backtraces(top_of_stack<1>());
  other = sennit_newstack(top_of_stack<0>(), suspend_thrice);
  begin_steps();
  sennit_suspend(top_of_stack<1>(), step, nullptr);
  {
    const sennit::fp_control_guard keeps;
    sennit_suspend(top_of_stack<1>(), step, nullptr);
  }
  end_steps();
}

// ---- The library. ----

void generators() {
  int sum = 0;
  begin_steps();
  for (int round = 0; round < 2; ++round) {
    sennit::generator<int> all([](auto& yield) {
      for (int i = 0; i < 3; ++i)
        yield(i);
    });
    for (const int i : all)
      sum += i;
    sennit::coroutine<int(int)> c([](auto& self, int x) {
      for (int i = 0; i < 2; ++i)
        x = self.yield(x + 1);
      return x;
    });
    sum += c(1) + c(2) + c(3);
  }
  end_steps();
  sennit::generator<int> throws([](auto& yield) {
    yield(1);
    throw std::runtime_error("seen after a switch");
  });
  begin_steps();
  try {
    for (const int i : throws)
      sum += i;
    fail("nothing was thrown");
  } catch (const std::runtime_error&) {
    sennit::generator<int> unfinished([](auto& yield) { yield(1); });
    sum += *unfinished.begin();
  }
  end_steps();
  if (sum != 2 * (3 + 2 + 3 + 3) + 2)
    fail("a wrong sum");
}

template <class Kind>
void fibers() {
  typename Kind::runtime(Kind::options()).run([] {
    typename Kind::template channel<int> values(0), other_values(1);
    int sum = 0;
    begin_steps();
    auto receiver = Kind::spawn([&] {
      for (int i = 0; i < 3; ++i)
        sum += values.receive().value();
      Kind::yield();
      Kind::sleep();
    });
    for (int i = 0; i < 3; ++i)
      values.send(i);
    Kind::yield();
    receiver.join();
    for (int round = 0; round < 3; ++round)
      Kind::spawn([&] { other_values.send(1); }).join(), sum += other_values.receive().value();
    try {
      Kind::spawn([] { throw std::runtime_error("crosses the join"); }).join();
      fail("nothing was thrown");
    } catch (const std::runtime_error&) {
    }
    auto parked = Kind::spawn([]() -> sennit::continuation {
      return sennit::become(sennit::this_fiber::yielding(), [] { return sennit::continuation(); });
    });
    parked.join();
    end_steps();
    if (sum != 3 + 3)
      fail("a wrong sum");
  });
}

struct parallel_kind {
  using runtime = sennit::runtime;
  template <class T>
  using channel = sennit::channel<T>;
  static sennit::runtime_options options() { return {.workers = 1}; }
  static auto spawn(auto function) { return sennit::spawn(std::move(function)); }
  static void yield() { sennit::this_fiber::yield(); }
  static void sleep() { sennit::this_fiber::sleep_for(std::chrono::microseconds(10)); }
};

struct local_kind {
  using runtime = sennit::local::runtime;
  template <class T>
  using channel = sennit::local::channel<T>;
  static sennit::local::runtime_options options() { return {}; }
  static auto spawn(auto function) { return sennit::local::spawn(std::move(function)); }
  static void yield() { sennit::local::this_fiber::yield(); }
  static void sleep() { sennit::local::this_fiber::sleep_for(std::chrono::microseconds(10)); }
};

}  // namespace

const scenario scenarios[] = {
    {"verbs", verbs},
#if defined(SENNIT_HAS_SWAPSTACK8)
    {"eight words", eight_words},
#endif
    {"linked contexts", linked},
    {"scheduler steps", scheduler_steps},
    {"coroutines", generators},
    {"local runtime", fibers<local_kind>},
    {"parallel runtime", fibers<parallel_kind>},
    {nullptr, nullptr},
};
