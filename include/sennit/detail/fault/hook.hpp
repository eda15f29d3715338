// Faults of a fiber or coroutine go to a hook. The hook is a function that runs in the place of the faulting
// instruction, on its stack, as if the interrupted code had called it. It may switch away. Once it returns,
// the instruction is repeated, with the registers as the hook has left them.
//
//   signal handler: which stack?  -> its record's hook, else the process's -> does it want this one?
//       no: the report, and the handler that was there before ours
//       yes: redirect (arch), and nothing else; the alternate stack is free again
//   on that stack: hook->serve(): resume, or pass: the fault happens again, and no hook is called
//
// A hook is called for a fault that the running instruction caused, on one of our stacks in use. It is not
// called for a signal sent by kill() and the like, nor for faults on stacks of OS threads, scheduler steps,
// signal handlers, or on emergency stacks. Those are fatal as before.
//
// If too little of the stack is left, above all after an overflow, the hook runs on an emergency stack
// instead. It comes from a reserve, because a signal handler cannot allocate one. It stays with the stack
// whose fault it served until fault_give_emergency(), because the interrupted code resumes from it.
//
// Rejected: to serve in the signal handler, on the alternate stack. That belongs to the thread, so no fiber
// could switch away from it. An alternate stack for each fiber: a system call in each switch.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/redirect.hpp"
#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/stack/sanitizer.hpp"
#include "sennit/detail/stack/stack.hpp"

namespace sennit::inline v0_1::detail {

// Whether there is anything of this: natively on x86-64 and AArch64. Elsewhere no hook is ever asked. (Under
// sanitizers, too: AddressSanitizer has its own ways with these signals, and its stack frames are as large as
// they like.)
#if SENNIT_REDIRECTS && !defined(SENNIT_SANITIZED) && !defined(SENNIT_BACKEND_PORTABLE)
inline constexpr bool fault_redirects = true;
#else
inline constexpr bool fault_redirects = false;
#endif

enum class fault_kind : std::uint8_t {
  memory,       // SIGSEGV: nothing is mapped there, or not for that
  bus,          // SIGBUS: there is no memory behind the mapping
  overflow,     // the stack's guard was touched
  instruction,  // SIGILL
  arithmetic,   // SIGFPE
};

struct fault_site {
  fault_kind kind = fault_kind::memory;
  void* address = nullptr;        // memory: the accessed address, if it is known; the others: the instruction
  stack_record* stack = nullptr;  // of the stack that it ran on
  bool emergency = false;         // served on an emergency stack
  machine_registers* registers = nullptr;  // while it is served; the hook may change them
  const char* refused = "";                // why the hook does not serve it, for the report: ", where ..."
};

enum class fault_answer : std::uint8_t { resume, pass };
inline constexpr const char* fault_passed_on = ", passed on by its exception server";  // fault_site::refused

struct fault_hook {
  // Called by the signal handler: whatever the stack's owner was doing, it is in the middle of it.
  bool (*wants)(const fault_hook& self, fault_site& site) noexcept;
  // Called in the place of the instruction. errno is kept. It may throw where the
  // code around the instruction can be unwound (unwind.hpp).
  fault_answer (*serve)(const fault_hook& self, const fault_site& site);
};

// The hook of those stacks whose record has none; null: none. Set once, more or less: it must stay for good.
void fault_set_hook(const fault_hook* hook) noexcept;

// Fills the reserve of emergency stacks. Not in a signal handler, nor when serving. Without memory there are
// fewer: a fault that would need one is then fatal.
void fault_fill_reserve() noexcept;

// The emergency stack of a stack goes back to the reserve: it was left for good.
void fault_give_emergency(stack_record& of) noexcept;

// ---- The signal handler's part.

// Where the interrupted code ran.
struct fault_location {
  stack_place stack;        // with `guard`: it has overflowed
  interrupted_frame frame;  // looked up for overflows only
};

// `address`: what a memory fault touched; 0 for other faults. With `thorough`, looks for frames that are
// larger than the stack, too: for faults that end the process.
fault_location fault_locate(std::uintptr_t address, const void* ucontext, bool thorough) noexcept;

// Returns true if the interrupted code is redirected once the handler returns. Otherwise `refused` is the
// reason, if a hook has given one.
bool fault_redirect(int signal, const void* address, const stack_place& on, void* ucontext,
                    const char*& refused) noexcept;

}  // namespace sennit::inline v0_1::detail
