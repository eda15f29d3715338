// Where backtraces are taken, for _Unwind_Backtrace (backtrace_test.cpp) and for gdb (tests/arch/gdb).
//
// Each scenario calls backtrace_here() on a stack of its own, with this below it:
//
//     backtrace_here < inner_second < inner_first < entry < (first frame) [ < (switch) < outer_second <
//     outer_first ]
//
// the bracket only where the context is linked to its resumer, or the scheduler step to the context that
// left.
#pragma once

#include <cstring>

#include "sennit/detail/arch/context.h"
#include "support/stack.hpp"

// Defined by the includer.
extern "C" void backtrace_here();

namespace scenario {

inline sennit_context* link_place;

extern "C" {

[[gnu::noinline]] inline void inner_second() {
  backtrace_here();
  __asm__ volatile("");  // not a tail call
}

[[gnu::noinline]] inline void inner_first() {
  inner_second();
  __asm__ volatile("");
}

inline void entry(sennit_context from, uintptr_t keep_link, uintptr_t, uintptr_t, uintptr_t) {
  for (;;) {
    if (keep_link != 0)
      *link_place = from;
    inner_first();
    const sennit_transfer in = sennit_swapstack(from, 0);
    from = in.from;
    keep_link = in.value;
  }
}

inline sennit_decision step_entry(sennit_context self, void*) {
  *link_place = self;
  inner_first();
  return {self, 0};
}

}  // extern "C"

using scenario_function = void (*)(support::stack&);

inline void inline_switch(sennit_context c, uintptr_t value) {
  sennit_swapstack(sennit_swapstack(c, value).from, value);
}

inline void root(support::stack& s) {
  inline_switch(sennit_newstack(s.top(), entry), 0);
}

inline void linked(support::stack& s) {
  link_place = static_cast<sennit_context*>(s.top());
  inline_switch(sennit_newlinked(link_place, entry), 1);
}

// Linked, but its link was never filled in.
inline void never_linked(support::stack& s) {
  link_place = static_cast<sennit_context*>(s.top());
  inline_switch(sennit_newlinked(link_place, entry), 0);
}

inline void linked_by_call(support::stack& s) {
  link_place = static_cast<sennit_context*>(s.top());
  sennit_swapstack_call(sennit_swapstack_call(sennit_newlinked(link_place, entry), 1).from, 1);
}

inline void linked_in_handler(support::stack& s) {
  try {
    throw 1;
  } catch (int) {
    linked(s);
  }
}

inline void linked_by_call_in_handler(support::stack& s) {
  try {
    throw 1;
  } catch (int) {
    linked_by_call(s);
  }
}

// The resumer needs a frame pointer or a base pointer to find its own frame.
inline void linked_from_odd_frame(support::stack& s) {
  volatile size_t size = 100;
  auto* variable = static_cast<char*>(__builtin_alloca(size));
  alignas(64) volatile char aligned[64] = {};
  std::memset(variable, 1, size);
  aligned[0] = variable[size - 1];
  linked(s);
  aligned[1] = aligned[0];
}

inline void scheduler_step(support::stack& s) {
  link_place = static_cast<sennit_context*>(s.top());
  sennit_suspend(s.top(), step_entry, nullptr);
  sennit_suspend(s.top(), step_entry, nullptr);
}

inline void step_in_handler(support::stack& s) {
  try {
    throw 1;
  } catch (int) {
    scheduler_step(s);
  }
}

struct named {
  const char* name;
  scenario_function run;
  bool goes_on;  // into outer_second and outer_first
};

inline constexpr named all[] = {
    {"root", root, false},
    {"never_linked", never_linked, false},
    {"linked", linked, true},
    {"linked_by_call", linked_by_call, true},
    {"linked_in_handler", linked_in_handler, true},
    {"linked_by_call_in_handler", linked_by_call_in_handler, true},
    {"linked_from_odd_frame", linked_from_odd_frame, true},
    {"scheduler_step", scheduler_step, true},
    {"step_in_handler", step_in_handler, true},
};

extern "C" {

[[gnu::noinline]] inline void outer_second(scenario_function run) {
  support::stack s;
  run(s);
}

[[gnu::noinline]] inline void outer_first(scenario_function run) {
  outer_second(run);
  __asm__ volatile("");
}

}  // extern "C"

}  // namespace scenario
