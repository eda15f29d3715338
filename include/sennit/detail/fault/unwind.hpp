// Leaving faulted code by an exception.
//
// By default compilers make exception tables only for calls (gcc: -fnon-call-exceptions changes that). A
// throw from another instruction, or out of a call compiled as noexcept, ends the program if the function's
// table does not cover the place. It does the wrong thing if the table covers it by accident: ranges extend
// from one call to another, over the code between. So there are two ways.
//
// First way: frames are given up, without destroying their objects, up to and including a certain function of
// ours. The exception seems to come from that function, from a call that every compiler treats as one that
// may throw:
//
//   faulted, and whoever called it    given up
//   the function                      given up
//   its caller                        sees the exception come from its call
//
// Second way, if the user declares that all code was compiled for it: the exception comes from the
// instruction. The tables are checked first, and frames that cannot be left are given up as above.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/redirect.hpp"
#include "sennit/detail/stack/stack.hpp"

namespace sennit::inline v0_1::detail {

enum class throws_from : std::uint8_t {
  here,     // the instruction itself: throw
  outside,  // the registers were changed: once they are loaded, `thrower` is called, and is to throw
  nowhere,  // some function at the root could not be left
};

// Whether a walk can begin at the instruction. It cannot after a call of a wrong function pointer. Then this
// changes the registers to the caller's, at the call, with the stack as if the call had returned. `accessed`:
// the address of a memory fault, or null.
bool fault_in_known_code(machine_registers& registers, const void* accessed,
                         const stack_memory& stack) noexcept;

// For the server of a fault. Changes the fault's registers so that frames are given up, up to and including
// the innermost of `function`. Once they are loaded, `thrower` is called, which must throw. Returns false if
// there is no such frame, or if too little of the stack is left there: it lies below `lowest`.
bool fault_gives_up(machine_registers& registers, std::uintptr_t lowest, const void* function,
                    void (*thrower)()) noexcept;

// If all code was compiled for it. `registers` are those of the fault. `lowest`: a stack pointer above which
// enough of the stack is left to throw; frames below it are given up.
throws_from fault_throws_from(machine_registers& registers, std::uintptr_t lowest,
                              void (*thrower)()) noexcept;

// How to read a function's table where nothing is thrown: an entry extends from one call to another, over all
// that does not throw, whatever lives there; and a handler that catches everything hides what is destroyed on
// the way to it. With `may_hide_some`, a function whose table has anything in it counts as having something
// to destroy, and so does one that called the next through code without unwind tables, or was interrupted by
// a signal.
enum class silence : bool { is_nothing, may_hide_some };

// Looks at the callers of the function whose __builtin_dwarf_cfa() is `frame`, without the first `trusted`
// ones, up to the first for which is_root(the function's address) holds. Returns the innermost one that has
// something to destroy when it is left; 0 if their tables show none.
std::uintptr_t frame_with_cleanup(const void* frame, unsigned trusted, bool (*is_root)(std::uintptr_t),
                                  silence not_said) noexcept;

}  // namespace sennit::inline v0_1::detail
