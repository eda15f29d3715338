// sennit_suspend: a scheduler step on its own stack picks the next context.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <exception>
#include <vector>

#include "sennit/detail/arch/context.h"
#include "support/stack.hpp"

namespace {

using support::stack;

// A toy scheduler: a queue of suspended contexts with the words they get.
struct toy {
  stack step_stack;
  std::deque<sennit_decision> queue;
  std::vector<int> trace;
  int steps_on_their_stack = 0;
  int scheduler_steps = 0;
};

toy* the_toy;

sennit_decision next(sennit_context self, void* argument) {
  toy& t = *the_toy;
  ++t.scheduler_steps;
  t.steps_on_their_stack += t.step_stack.contains(__builtin_frame_address(0));
  t.queue.push_back({self, reinterpret_cast<uintptr_t>(argument) * 10});
  const sennit_decision d = t.queue.front();
  t.queue.pop_front();
  return d;
}

// Leaves without queueing itself again.
sennit_decision last(sennit_context, void*) {
  const sennit_decision d = the_toy->queue.front();
  the_toy->queue.pop_front();
  return d;
}

void fiber(sennit_context, uintptr_t id, uintptr_t rounds, uintptr_t, uintptr_t) {
  for (uintptr_t i = 1; i <= rounds; ++i) {
    the_toy->trace.push_back(static_cast<int>(id));
    const uintptr_t argument = id * 100 + i;
    const uintptr_t back = sennit_suspend(the_toy->step_stack.top(), next, reinterpret_cast<void*>(argument));
    EXPECT_EQ(back, argument * 10);
  }
  sennit_suspend(the_toy->step_stack.top(), last, nullptr);
  FAIL();
}

void first_run(sennit_context from, uintptr_t id, uintptr_t, uintptr_t, uintptr_t) {
  const sennit_transfer4 start = sennit_swapstack4(from, 0, 0, 0, 0);
  fiber(nullptr, id, start.value[0], 0, 0);
}

TEST(Suspend, DeciderChoosesAmongContexts) {
  toy t;
  the_toy = &t;
  *static_cast<sennit_context*>(t.step_stack.top()) = nullptr;
  std::array<stack, 5> stacks;
  for (uintptr_t i = 0; i < stacks.size(); ++i) {
    sennit_context c = sennit_newstack(stacks[i].top(), first_run);
    c = sennit_swapstack(c, i + 1).from;
    t.queue.push_back({c, 3});
  }
  // We are one of them: we come back when all that were before us have run.
  const uintptr_t back = sennit_suspend(t.step_stack.top(), next, reinterpret_cast<void*>(uintptr_t{7}));
  EXPECT_EQ(back, 70u);
  EXPECT_EQ(t.trace, (std::vector<int>{1, 2, 3, 4, 5}));
  while (!t.queue.empty()) {
    EXPECT_EQ(sennit_suspend(t.step_stack.top(), next, nullptr), 0u);
  }
  EXPECT_EQ(t.trace, (std::vector<int>{1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5}));
  EXPECT_GT(t.scheduler_steps, 15);
  EXPECT_EQ(t.steps_on_their_stack, t.scheduler_steps);
}

sennit_decision same(sennit_context self, void* argument) {
  return {self, reinterpret_cast<uintptr_t>(argument) + 1};
}

TEST(Suspend, DeciderMayChooseTheOneThatLeft) {
  stack step_stack;
  *static_cast<sennit_context*>(step_stack.top()) = nullptr;
  for (uintptr_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(sennit_suspend(step_stack.top(), same, reinterpret_cast<void*>(i)), i + 1);
  }
}

void tell_from(sennit_context from, uintptr_t value, uintptr_t, uintptr_t, uintptr_t) {
  EXPECT_EQ(from, nullptr);
  sennit_leave(reinterpret_cast<sennit_context>(value), 99);
}

struct pair {
  sennit_context fresh;
};

sennit_decision enter_fresh(sennit_context self, void* argument) {
  return {static_cast<pair*>(argument)->fresh, reinterpret_cast<uintptr_t>(self)};
}

TEST(Suspend, AFreshContextMayBeChosenAndSeesNobodyToResume) {
  stack step_stack;
  stack s;
  *static_cast<sennit_context*>(step_stack.top()) = nullptr;
  pair p = {sennit_newstack(s.top(), tell_from)};
  EXPECT_EQ(sennit_suspend(step_stack.top(), enter_fresh, &p), 99u);
}

// Each side stays where it was left; the fiber's scheduler steps run on the stack of the thread, below that
// place.
sennit_context scheduler;
sennit_context parked;

sennit_decision to_scheduler(sennit_context self, void* argument) {
  parked = self;
  return {scheduler, reinterpret_cast<uintptr_t>(argument)};
}

sennit_decision to_parked(sennit_context self, void* argument) {
  scheduler = self;
  return {parked, reinterpret_cast<uintptr_t>(argument)};
}

void count_from_one(sennit_context, uintptr_t, uintptr_t, uintptr_t, uintptr_t) {
  for (uintptr_t i = 1;; ++i) {
    const uintptr_t free = reinterpret_cast<uintptr_t>(scheduler) - SENNIT_BELOW_RECORD - 64;
    auto* base = reinterpret_cast<sennit_context*>(free & ~uintptr_t{15});
    *base = scheduler;
    EXPECT_EQ(sennit_suspend(base, to_scheduler, reinterpret_cast<void*>(i)), i * 2);
  }
}

TEST(Suspend, DeciderMayRunBelowASuspendedContextOfTheThread) {
  stack s;
  stack entering;
  *static_cast<sennit_context*>(entering.top()) = nullptr;
  volatile uintptr_t canary[4] = {1, 2, 3, 4};
  parked = sennit_newstack(s.top(), count_from_one);
  for (uintptr_t i = 1; i < 1000; ++i) {
    ASSERT_EQ(sennit_suspend(entering.top(), to_parked, reinterpret_cast<void*>((i - 1) * 2)), i);
  }
  EXPECT_EQ(canary[0] + canary[1] + canary[2] + canary[3], 10u);
}

sennit_decision no_exception_here(sennit_context self, void* argument) {
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
  try {
    throw 5;
  } catch (int five) {
    EXPECT_EQ(five, 5);
  }
  return {self, reinterpret_cast<uintptr_t>(argument) + 1};
}

TEST(Suspend, TheDeciderSeesNoExceptionOfTheLeaver) {
  stack step_stack;
  *static_cast<sennit_context*>(step_stack.top()) = nullptr;
  for (uintptr_t i = 0; i < 100; ++i) {
    try {
      try {
        throw i;
      } catch (uintptr_t) {
        EXPECT_EQ(sennit_suspend(step_stack.top(), no_exception_here, reinterpret_cast<void*>(i)), i + 1);
        throw;
      }
      FAIL();
    } catch (uintptr_t again) {
      EXPECT_EQ(again, i);
    }
  }
}

}  // namespace
