// Called in a signal handler, makes the interrupted code call a function of ours. The interrupted code
// continues in a stub (src/arch/redirect_<isa>.S). The stub saves the machine state, calls the function, and
// restores the state as the function has left it. The function may switch away, and come back on another
// thread: the signal's delivery has ended by then.
//
// On the stack that the function gets on x86-64:
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
// On AArch64:
//
//      | the interrupted code's frame  |   or nothing
//      +-------------------------------+ <- `top` of redirect()
//      | more records, if the kernel   |
//      | has written any (SVE)         |                 all this copied by the handler
//      | records: floating point, ...  |   frame + 592   from the signal's frame
//      | general registers             |   frame + 312
//      | mask, alternate stack         |   frame + 128
//      | function, argument            |   frame         (the signal's information is not needed)
//      +-------------------------------+ <- frame, 16-aligned; sp when the stub begins
//      | the function's frame ...      |
//
// The stub's unwinding tables lead on to the interrupted instruction, so debuggers, backtraces and exceptions
// that the function throws see it as the function's caller.
//
// The way back on x86-64 is iret, which loads flags, stack pointer and program counter at once, and needs
// nothing below the stack pointer that it loads. Rejected there: `ret $128` from below the red zone (there
// may be no memory); to call sigreturn once more, as on AArch64 (three system calls); to have sigreturn load
// the vector registers, and the stub save them (some 50 ns more).
//
// AArch64 has no such instruction: a branch takes its target from a register. There the way back is the
// kernel's, from the copy of the signal's frame. It puts back all registers, also those of SVE. It would also
// put back the signal mask and the alternate stack, which belong to the thread, so the stub enters the
// present ones before. Refused are faults in streaming mode, with SME's matrix in use, and with a guarded
// control stack. Rejected: a trap in the stub, whose handler writes the registers into its own signal's frame
// (a handler of another library may come first).
//
// Not put back: what belongs to the thread (the thread pointer, protection keys).
#pragma once

#include <cstddef>
#include <cstdint>

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define SENNIT_REDIRECTS 1
#else
#define SENNIT_REDIRECTS 0
#endif

namespace sennit::inline v0_1::detail {

#if SENNIT_REDIRECTS && defined(__x86_64__)

// In the order of ucontext's gregs, up to the flags. A change is seen by the interrupted code.
struct machine_registers {
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
  std::uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
};

// What a redirected function is called with.
struct redirection {
  machine_registers registers;
  std::uint64_t vector_mask;  // which components are put back; the stub reads it
  void (*function)(redirection& what);
  std::uint64_t way_back[5];  // rip, cs, flags, rsp, ss
  void* argument;
};

// What lies below a stack pointer and is in use.
inline constexpr std::size_t red_zone = 128;

// The instruction that runs next.
inline std::uint64_t& program_counter(machine_registers& registers) noexcept {
  return registers.rip;
}

// Where its stack ends.
inline void* stack_pointer(const machine_registers& registers) noexcept {
  return reinterpret_cast<void*>(registers.rsp);
}

#elif SENNIT_REDIRECTS

// As in ucontext's mcontext. A change is seen by the interrupted code.
struct machine_registers {
  std::uint64_t x[31], sp, pc, pstate;
};

// A signal's frame as the kernel makes it, up to its registers, with our own members in place of the signal's
// information.
struct redirection {
  void (*function)(redirection& what);
  void* argument;
  std::uint64_t information[14];
  std::uint64_t context[23];  // a ucontext_t begins here
  machine_registers registers;
};

inline constexpr std::size_t red_zone = 0;

inline std::uint64_t& program_counter(machine_registers& registers) noexcept {
  return registers.pc;
}

inline void* stack_pointer(const machine_registers& registers) noexcept {
  return reinterpret_cast<void*>(registers.sp);
}

#else

struct machine_registers {};

struct redirection {
  machine_registers registers;
  void* argument;
};

inline constexpr std::size_t red_zone = 0;

inline std::uintptr_t program_counter(const machine_registers&) noexcept {
  return 0;
}

inline void* stack_pointer(const machine_registers&) noexcept {
  return nullptr;
}

#endif

// Bytes that a redirection of what a signal interrupted takes on a stack; 0: it cannot be redirected.
std::size_t redirection_room(const void* ucontext) noexcept;

// Makes the interrupted code continue in `function`, once the signal handler returns, on the stack below
// `top`, which has redirection_room() there. When the function returns, the interrupted code resumes, with
// `registers`. The function may throw, if the interrupted code can be unwound at that instruction.
void redirect(void* ucontext, char* top, void (*function)(redirection&), void* argument) noexcept;

}  // namespace sennit::inline v0_1::detail
