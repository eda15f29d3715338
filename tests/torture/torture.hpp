// The torture test of the switch: functions in which a compiler does something difficult with registers or
// the stack frame, each switching to a partner again and again, must compute what they compute without
// switching.
//
//   subject.cpp   the functions; compiled once per flag set and compiler, and as fixed partners
//   main.cpp      runs every function against every function of every other object, both ways, and against a
//                 partner that overwrites every register and the memory below each suspended context
//   trash_*.S     that partner's switch
//   hooks.cpp     tells sanitizers of the switches; never itself instrumented
//
// scripts/torture builds and runs all of it. Objects of different compilers and flags are linked into one
// program, so what they share has one layout, whatever the flags.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/context.h"

namespace torture {

enum side { host, guest };

// One host and one guest switching to each other.
struct session {
  sennit_context at[2];  // where each side is suspended
  uint64_t seed[2];      // of the words each side sends
  uint64_t received[2];  // how many
  uint64_t wrong_words;
  sennit_context relay;  // suspended in main.cpp's relay; resumes `relay_to` with the word it gets plus one
  sennit_context relay_to;
  void* step_top;
  char* stack_bottom;  // the guest's
  uint64_t stack_size;
  void* sanitizer[2];  // hooks.cpp's
  const void* host_bottom;
  uint64_t host_size;
};

// hooks.cpp's. Only called where TORTURE_HOOKS is defined.
extern "C" void torture_before_switch(session* s, side me);
extern "C" void torture_after_switch(session* s, side me);

constexpr int rounds = 12;

// The n-th word of a sequence (splitmix64).
[[gnu::always_inline]] inline uint64_t word(uint64_t seed, uint64_t n) {
  uint64_t z = seed + n * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

template <class T>
[[gnu::always_inline]] inline T opaque(T value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

// Checks the word we are resumed with, and notes where the other side is.
template <side me>
[[gnu::always_inline]] inline void arrived(session& s, sennit_context from, uintptr_t value) {
  s.at[1 - me] = from;
  s.wrong_words += value != static_cast<uintptr_t>(word(s.seed[1 - me], s.received[me]));
  ++s.received[me];
}

inline sennit_decision relay_step(sennit_context self, void* argument) {
  auto& s = *static_cast<session*>(argument);
  s.relay_to = self;
  return {s.relay, static_cast<uintptr_t>(s.received[0])};
}

enum class form { by_inline, by_call, all_in_turn };

template <side me, form f>
struct channel {
  // One switch to the other side, or, by the forms that do not return their resumer, to the relay.
  [[gnu::always_inline]] static void go(session& s, int round) {
#if defined(TORTURE_HOOKS)
    torture_before_switch(&s, me);
#else  // sanitizers do not see into the native suspend
    if constexpr (f == form::all_in_turn) {
      if (round % 4 == 2) {
        s.wrong_words += sennit_swapstack_saving(s.relay, s.received[0], &s.relay_to) != s.received[0] + 1;
        return;
      }
      if (round % 4 == 3) {
        *static_cast<sennit_context*>(s.step_top) = s.at[1 - me];
        s.wrong_words += sennit_suspend(s.step_top, relay_step, &s) != s.received[0] + 1;
        return;
      }
    }
#endif
    const uint64_t value = word(s.seed[me], s.received[1 - me]);
    sennit_transfer in;
    if constexpr (f == form::by_inline) {
      in = sennit_swapstack(s.at[1 - me], value);
    } else if constexpr (f == form::by_call) {
      in = sennit_swapstack_call(s.at[1 - me], value);
    } else {
      in =
          round % 2 == 0 ? sennit_swapstack(s.at[1 - me], value) : sennit_swapstack_call(s.at[1 - me], value);
    }
#if defined(TORTURE_HOOKS)
    torture_after_switch(&s, me);
#endif
    arrived<me>(s, in.from, in.value);
  }
};

// For reference: the same computation without a switch.
struct no_channel {
  [[gnu::always_inline]] static void go(session&, int) { __asm__ volatile("" ::: "memory"); }
};

// What a function computes from its seed.
using function = uint64_t (*)(session& s, uint64_t seed);

struct subject {
  const char* name;
  bool (*runs_here)();  // null: everywhere
  function reference;
  function as_host[2];  // inline only; all forms
  function as_guest[2];
};

struct object {
  const char* name;
  const subject* subjects;
  int count;
};

}  // namespace torture
