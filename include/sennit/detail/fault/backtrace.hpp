// Backtraces: of a suspended context, of what a signal interrupted, and of the caller. By the tables that
// exceptions go by; nothing is allocated and (with glibc 2.35 and later, where tables are looked up without
// one) no lock is taken, so signal handlers may.
//
// Each address lies within a call, not behind it. Where a walk strays (into code without tables, or out of
// memory because a signal came in the middle of a switch) it ends early.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/stack/stack.hpp"

namespace sennit::inline v0_1::detail {

inline constexpr std::size_t backtrace_depth = 64;

// Each returns how many frames it found, the innermost first. On threads that fault_watch_thread() knows.
// `scratch`: a stack to do it on. `frame`: the callers of the function whose __builtin_dwarf_cfa() that is.
// On a portable backend there are none to be found.
std::size_t backtrace_of(sennit_context context, const stack_memory& scratch,
                         std::span<std::uintptr_t> at) noexcept;
std::size_t backtrace_interrupted(const void* ucontext, std::span<std::uintptr_t> at) noexcept;
std::size_t backtrace_here(const void* frame, std::span<std::uintptr_t> at) noexcept;

// The stack pointer and the program counter of what a signal interrupted; 0 where they are not known.
std::uintptr_t interrupted_stack_pointer(const void* ucontext) noexcept;
std::uintptr_t interrupted_pc(const void* ucontext) noexcept;

// The innermost frame of what a signal interrupted, for reports of stack overflows. It lies between the
// interrupted stack pointer and `end`.
struct interrupted_frame {
  std::uintptr_t end = 0;       // the caller's stack pointer; 0: unknown
  std::uintptr_t function = 0;  // where its function begins
  bool recursive = false;       // its function is also among its callers
};
interrupted_frame frame_interrupted(const void* ucontext) noexcept;

// Calls a function on a stack with more room than a fiber's: to demangle a long name takes that. False: there
// is no memory for one, and it was not called.
bool on_large_stack(void (*function)(void* argument), void* argument) noexcept;

// Appends a line: the function, as far as its name can be found out, and its place in its file.
void describe_address(std::string& to, std::uintptr_t address);

}  // namespace sennit::inline v0_1::detail
