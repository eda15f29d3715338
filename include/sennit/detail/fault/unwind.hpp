// Leaving by an exception what has faulted.
//
// Compilers make tables for exceptions from calls only, unless told otherwise (gcc: -fnon-call-exceptions).
// To throw from another instruction, or out of a call that was taken for one that cannot throw, ends the
// program where the function's table does not know the place, and does the wrong thing where it does by
// accident: the table's ranges go from one call to another, over what lies between. So there are two ways.
//
// Frames are given up, nothing of them is destroyed, up to and with a certain function of ours; the exception
// comes as if thrown by that one, from a call that every compiler takes for one that may throw:
//
//   faulted, and whoever called it    given up
//   the function                      given up
//   its caller                        sees the exception come from its call
//
// Or, where the user says that all was compiled for it, the exception comes from the instruction. The tables
// are looked at first, and frames that cannot be left are given up as above.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/redirect.hpp"
#include "sennit/detail/stack/stack.hpp"

namespace sennit::detail {

enum class throws_from : std::uint8_t {
  here,     // the instruction itself: throw
  outside,  // the registers were changed: once they are loaded, `thrower` is called, and is to throw
  nowhere,  // some function at the root could not be left
};

// Whether a walk can begin at the instruction. Where a wrong function pointer was called there is none: then
// the registers are changed to those of who has called it, at the call, with the stack as if it had returned.
bool fault_in_known_code(machine_registers& registers, const stack_memory& stack) noexcept;

// For who serves a fault. Changes the registers that it came with so that frames are given up, up to and with
// the innermost of `function`; once they are loaded, `thrower` is called, and is to throw. False: there is no
// such frame, or there is too little of the stack left where it is: below `lowest`.
bool fault_gives_up(machine_registers& registers, std::uintptr_t lowest, const void* function,
                    void (*thrower)()) noexcept;

// Where all was compiled for it. `registers` are those that it came with. `lowest`: a stack pointer above
// which there is enough of the stack to throw; below it frames are given up.
throws_from fault_throws_from(machine_registers& registers, std::uintptr_t lowest,
                              void (*thrower)()) noexcept;

// What it means that a function's table does not say what is to be destroyed where it is: nothing may be
// thrown there.
enum class silence : bool { is_nothing, may_hide_some };

// Of the callers of the function whose __builtin_dwarf_cfa() `frame` is, but for the first `trusted` ones:
// where the innermost is that has something to destroy when it is left; 0: none has, as far as their tables
// say.
std::uintptr_t frame_with_cleanup(const void* frame, unsigned trusted,
                                  silence not_said = silence::is_nothing) noexcept;

}  // namespace sennit::detail
