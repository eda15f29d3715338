// sennit::small_stack and stack_usage: stacks below 8 KiB, and how deep stacks have been.
// room: stack
//
//   sennit::spawn(wait_for_a_word, {.name = "waiter", .stack_size = sennit::small_stack(1024)});
//
//   sennit::measure_stacks(true);
//   ... all that the program does ...
//   for (const sennit::stack_usage& each : sennit::stack_usages())
//     std::puts(each.advice().c_str());
//
// docs/stacks.md says more. Source: Dolan 2013, section 3.5 (a minimum stack size of a few kilobytes is most
// of what a context takes).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sennit/detail/stack/stack.hpp"

namespace sennit {

// A stack size, in bytes, that may be less than 8 KiB: 1 KiB at least, rounded up to a power of two; for
// whatever takes a stack size (spawn_options, runtime_options, generator, coroutine). Sizes that do not come
// from here are 8 KiB at least.
//
// Stacks of 1 and 2 KiB lie side by side, without a guard: who overruns one writes into another. That is
// noticed (the program is ended, with the fiber's name) when its fiber ends with a stack of its own choice or
// a coroutine does, and in builds with assertions at every wait and yield; by then damage is done. So they
// are for code that is known (stack_usages() helps), calls little, and is linked with -Wl,-z,now: to bind a
// function at its first call takes more than 1 KiB. Handlers of signals must have SA_ONSTACK, or run on the
// fiber's stack. 4 KiB have a guard.
constexpr std::size_t small_stack(std::size_t bytes) noexcept {
  return bytes | detail::small_stack_mark;
}

// How deep the stacks of fibers of one name, or of all coroutines, have been.
struct stack_usage {
  std::string kind;            // "fiber" or "coroutine"
  std::string name;            // a fiber's; empty: all that have none
  std::size_t count = 0;       // of stacks looked at: those in use, and (measured) those that had ended
  std::size_t size = 0;        // bytes: the largest stack among them
  std::size_t high_water = 0;  // bytes: how much of one has been written to, at most

  // What would do: high_water and a quarter, or at least 256 bytes, more.
  std::size_t enough() const noexcept;
  // In a sentence: the size to ask for, which is taken as it is; that it has no guard, if so; where "main"
  // asks.
  std::string advice() const;
};

// From now on, a fiber that gets a name has its stack emptied first, and how deep it has been is remembered
// when it ends. Without, a stack's depth is what all who had it before have left there. To empty and to look
// costs about a system call a fiber: it is for runs that are to find out. Any thread.
void measure_stacks(bool on) noexcept;

// Of all stacks that are in use, and of named fibers that ended while stacks were measured, in alphabetical
// order. A depth is that of the deepest word that is not zero, on pages that are in memory. Fibers of other
// threads may go on meanwhile: what is said of them is then a little old. Any thread. Throws std::bad_alloc.
std::vector<stack_usage> stack_usages();

// How deep the stack that the caller runs on has been, in bytes; 0: it is none of Sennit's.
std::size_t stack_high_water() noexcept;

}  // namespace sennit
