// Calls a function on another stack, as a part of the running context: no other context is made or entered.
//
// Natively on x86-64 and AArch64 that is one call in between, which exceptions and backtraces pass through.
// Elsewhere a context is made on that stack and entered; exceptions are caught there and thrown again here,
// and backtraces end there.
//
// Rejected: to run the call in a coroutine everywhere. An exception, and a fault that is served by a throw,
// would have to be transferred by hand, and profilers would not see the callers.
#pragma once

#include "sennit/detail/arch/context.h"

// From assembly.
extern "C" void sennit_call_on_stack(void* top, void (*function)(void*), void* argument);

namespace sennit::inline v0_1::detail {

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__) && !defined(SENNIT_BACKEND_PORTABLE)
inline constexpr bool calls_on_stacks_natively = true;
#else
inline constexpr bool calls_on_stacks_natively = false;
#endif

// Makes the call in a new context. `top`: 16-aligned. Throws what `function` throws.
void call_by_context(void* top, void (*function)(void*), void* argument);

inline void call_on_stack(void* top, void (*function)(void*), void* argument) {
  if constexpr (calls_on_stacks_natively)
    sennit_call_on_stack(top, function, argument);
  else
    call_by_context(top, function, argument);
}

}  // namespace sennit::inline v0_1::detail
