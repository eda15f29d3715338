// Called in a signal handler, makes the interrupted code call a function of ours. The interrupted code
// continues in a stub (src/arch/redirect_x86_64.S). The stub saves the machine state, calls the function, and
// restores the state as the function has left it. The function may switch away, and come back on another
// thread: the signal's delivery has ended by then.
//
// On the stack that the function gets:
//
//      higher addresses
//      | the interrupted code's frame, |
//      | its red zone, 128 bytes       |   or nothing, on a stack of its own
//      +-------------------------------+ <- `top` of redirect()
//      | vector state: what xsave      |   frame + 256   copied by the handler from the signal's
//      | writes, in standard form      |                 frame, which gets the initial state then
//      | where to go (for iret)        |
//      | general registers             |
//      +-------------------------------+ <- frame, 64-aligned; rsp when the stub begins
//      | the function's frame ...      |
//
// The stub's unwinding tables lead on to the interrupted instruction, so debuggers, backtraces and exceptions
// that the function throws see it as the function's caller.
//
// The way back is iret, which loads flags, stack pointer and program counter at once, and needs nothing below
// the stack pointer that it loads. Rejected: `ret $128` from below the red zone (there may be no memory); to
// call sigreturn once more, with the signal's frame copied from the alternate stack (two system calls, and
// the thread it goes back to would get another's alternate stack and mask); to have sigreturn load the vector
// registers, and the stub save them (some 50 ns more).
//
// Not put back: what belongs to the thread (the thread pointer, protection keys).
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__LP64__)
#define SENNIT_REDIRECTS 1
#else
#define SENNIT_REDIRECTS 0
#endif

namespace sennit::inline v0_1::detail {

#if SENNIT_REDIRECTS

// In the order of ucontext's gregs, up to the flags. A change is seen by the interrupted code.
struct machine_registers {
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
  std::uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
};

#else

struct machine_registers {};

#endif

// What a redirected function is called with.
struct redirection {
  machine_registers registers;
#if SENNIT_REDIRECTS
  std::uint64_t vector_mask;  // which components are put back; the stub reads it
  void (*function)(redirection& what);
  std::uint64_t way_back[5];  // rip, cs, flags, rsp, ss
#endif
  void* argument;
};

// Bytes that a redirection of what a signal interrupted takes on a stack; 0: it cannot be redirected.
std::size_t redirection_room(const void* ucontext) noexcept;

// Makes the interrupted code continue in `function`, once the signal handler returns, on the stack below
// `top`, which has redirection_room() there. When the function returns, the interrupted code resumes, with
// `registers`. The function may throw, if the interrupted code can be unwound at that instruction.
void redirect(void* ucontext, char* top, void (*function)(redirection&), void* argument) noexcept;

// What lies below a stack pointer and is in use.
inline constexpr std::size_t red_zone = SENNIT_REDIRECTS ? 128 : 0;

// The instruction that runs next.
inline std::uintptr_t program_counter([[maybe_unused]] const machine_registers& registers) noexcept {
#if SENNIT_REDIRECTS
  return registers.rip;
#else
  return 0;
#endif
}

// Where its stack ends.
inline void* stack_pointer([[maybe_unused]] const machine_registers& registers) noexcept {
#if SENNIT_REDIRECTS
  return reinterpret_cast<void*>(registers.rsp);
#else
  return nullptr;
#endif
}

}  // namespace sennit::inline v0_1::detail
