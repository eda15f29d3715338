// Faults of a fiber or coroutine go to a hook: a function that is called in the place of the instruction that
// faulted, on that stack, as if by the code that was interrupted. It may switch away; once it returns, the
// instruction is done again, with the registers as the hook has left them.
//
//   signal handler: which stack?  -> its record's hook, else the process's -> does it want this one?
//       no: the report, and the handler that was there before ours
//       yes: redirect (arch), and nothing else; the alternate stack is free again
//   on that stack: hook->serve(): resume, or pass: the fault happens again, and nobody is asked
//
// What is asked about: a fault that the running instruction caused, on one of our stacks that somebody uses.
// Not asked about, and fatal as before: what kill() and the like sent; faults on stacks of OS threads, of
// deciders, of signal handlers, and on those that overflows are served on.
//
// Where there is too little left of the stack (above all when it has overflowed) the hook is called on an
// emergency stack instead, from a reserve: it cannot be made in a signal handler. Once taken it stays with
// the stack whose fault it served, until fault_give_emergency(): what is interrupted goes on from it.
//
// Rejected: to serve in the signal handler, on the alternate stack. That is the thread's: nobody could switch
// away from it. An alternate stack for each fiber: a system call in each switch.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/redirect.hpp"
#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/stack/sanitizer.hpp"
#include "sennit/detail/stack/stack.hpp"

namespace sennit::detail {

// Whether there is anything of this: natively on x86-64. Elsewhere no hook is ever asked. (Under sanitizers,
// too: AddressSanitizer has its own ways with these signals, and its stack frames are as large as they like.)
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
  void* address = nullptr;  // memory: what was touched, if the processor says; the others: the instruction
  stack_record* stack = nullptr;           // of the stack that it ran on
  bool emergency = false;                  // served elsewhere
  machine_registers* registers = nullptr;  // when served; what is changed there, is changed
  const char* refused = "";                // why the hook does not want it, for the report: ", where ..."
};

enum class fault_answer : std::uint8_t { resume, pass };

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

}  // namespace sennit::detail
