// The registration of stacks with Valgrind's tools. Without it they take a switch for a frame of megabytes.
// For neighbouring stacks of one mapping they see many small frames, and mark the memory between as
// undefined. A stack is registered once, when it is handed out for the first time, because stacks are never
// unmapped; the user's memory is registered each time. A switch registers nothing. Outside of Valgrind this
// costs six instructions per stack, and nothing if Valgrind's header was missing.
#pragma once

#include "sennit/detail/stack/stack.hpp"

#if !defined(SENNIT_NO_VALGRIND) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#define SENNIT_VALGRIND 1
#include <valgrind/memcheck.h>
#endif
#endif

namespace sennit::inline v0_1::detail {

inline bool runs_on_valgrind() noexcept {
#if defined(SENNIT_VALGRIND)
  return RUNNING_ON_VALGRIND != 0;
#else
  return false;
#endif
}

// Returns its number, for taking it back.
inline unsigned show_valgrind_stack([[maybe_unused]] const stack_memory& memory) noexcept {
#if defined(SENNIT_VALGRIND)
  return VALGRIND_STACK_REGISTER(memory.low, memory.high() - 1);
#else
  return 0;
#endif
}

inline void show_valgrind_end([[maybe_unused]] unsigned number) noexcept {
#if defined(SENNIT_VALGRIND)
  VALGRIND_STACK_DEREGISTER(number);
#endif
}

// What its last user left is not to be read by the next one.
inline void show_valgrind_given([[maybe_unused]] const stack_memory& memory) noexcept {
#if defined(SENNIT_VALGRIND)
  if (RUNNING_ON_VALGRIND)
    static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(memory.low, memory.high() - memory.low));
#endif
}

}  // namespace sennit::inline v0_1::detail
