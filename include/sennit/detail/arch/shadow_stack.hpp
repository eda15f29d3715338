// The shadow stack of x86-64 (CET): a second stack, only of return addresses. Each call pushes to it, and
// each return compares with it. If a switch does not change it, the next return fails: control protection.
//
// Three instructions switch it. A token on a shadow stack marks that no thread runs on it, so that it may be
// entered:
//
//      | ... return addresses        | <- the pointer to it while it is suspended
//      | token: that address | 1     |    the operand of rstorssp; that leaves a note of the former stack,
//      |                             |    by which saveprevssp puts a token on the stack that was left
//
// Inline, because each is between a call and its return. Where shadow stacks are missing or the thread has
// none, the processor decodes the first one as no operation; the others must not be reached then.
// Source: Intel's manual, volume 1, chapter 17 (18.2 of older ones); Linux, Documentation/arch/x86/shstk.rst.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/context.h"

namespace sennit::inline v0_1::detail {

#if defined(__x86_64__) && !defined(SENNIT_BACKEND_PORTABLE)

inline constexpr std::size_t shadow_slot = 8;

// The pointer to the calling thread's; 0: it has none.
[[gnu::always_inline]] inline std::uintptr_t shadow_stack_pointer() noexcept {
  std::uintptr_t pointer = 0;
  __asm__ volatile("rdsspq %0" : "+r"(pointer));
  return pointer;
}

// From ours to the one that was suspended with its pointer at `target`, or made by map_shadow_stack with its
// end there. Ours is then suspended at where it was.
[[gnu::always_inline]] inline void shadow_stack_switch(std::uintptr_t target) noexcept {
  __asm__ volatile("rstorssp (%0)\n\tsaveprevssp" : : "r"(target - shadow_slot) : "memory", "cc");
}

// Drops the return address that was pushed last.
[[gnu::always_inline]] inline void shadow_stack_drop() noexcept {
  __asm__ volatile("incsspq %0" : : "r"(std::uintptr_t{1}) : "memory");
}

#else

[[gnu::always_inline]] inline std::uintptr_t shadow_stack_pointer() noexcept {
  return 0;
}
#if defined(SENNIT_SHADOW_STACK)
#error \
    "SENNIT_SHADOW_STACK is for x86-64 and its own switch; glibc's makecontext (SENNIT_BACKEND=ucontext) needs no help"
#endif

#endif

}  // namespace sennit::inline v0_1::detail
