// sennit::small_stack and stack_usage: stacks below 8 KiB, and how deep stacks have been used.
// room: stack
//
//   sennit::spawn(wait_for_a_word, {.name = "waiter", .stack_size = sennit::small_stack(1024)});
//
//   sennit::measure_stacks(true);
//   ... all that the program does ...
//   for (const sennit::stack_usage& each : sennit::stack_usages())
//     std::puts(each.advice().c_str());
//
// docs/explanation/stacks.md says more.
//
// Source: Dolan 2013, section 3.5 (a minimum stack size of a few kilobytes is most of what a context
// takes).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sennit/detail/stack/stack.hpp"

namespace sennit::inline v0_1 {

/// Makes a stack size that may be less than 8 KiB, for everything that takes a stack size (spawn_options,
/// runtime_options, generator, coroutine). `bytes` is at least 1 KiB, and is rounded up to a power of two.
/// Other stack sizes are raised to at least 8 KiB.
///
/// Stacks of 4 KiB have a guard. Stacks of 1 and 2 KiB lie side by side, without a guard: an overflow
/// overwrites another stack. It is detected when a fiber that chose its stack size, or a coroutine, ends,
/// and in builds with assertions at every wait and yield. The program then ends with the fiber's name, but
/// the damage is done. Use such stacks only for
/// known code that calls little (see stack_usages()). Link with -Wl,-z,now: to bind a function at its first
/// call takes more than 1 KiB. Install signal handlers with SA_ONSTACK: otherwise they run on the fiber's
/// stack.
constexpr std::size_t small_stack(std::size_t bytes) noexcept {
  return bytes | detail::small_stack_mark;
}

/// How deep the stacks of fibers of one name, or of all coroutines, have been used.
struct stack_usage {
  /// "fiber" or "coroutine".
  std::string kind;
  /// The name of the fibers. Empty for all fibers without a name.
  std::string name;
  /// The number of stacks that were examined: those in use and, if stacks are measured, those of fibers
  /// that have ended.
  std::size_t count = 0;
  /// The size of the largest of these stacks, in bytes.
  std::size_t size = 0;
  /// The largest part of a stack that has been written to, in bytes.
  std::size_t high_water = 0;

  /// \returns a sufficient size in bytes: high_water and a quarter more, or at least 256 bytes more
  std::size_t enough() const noexcept;
  /// \returns a sentence that recommends a stack size, which can be used as it is. It mentions if such a
  ///   stack has no guard. For "main" it names the option to set.
  std::string advice() const;
};

/// Switches measurement on or off. While it is on, the stack of a fiber that gets a name is cleared first,
/// and its depth is recorded when the fiber ends. Otherwise the depth of a stack includes what earlier
/// fibers have left on it.
///
/// To clear and to examine a stack costs about a system call for each fiber: use it in runs that measure.
/// Any thread may call it.
void measure_stacks(bool on) noexcept;

/// Examines all stacks in use, and the recorded depths of named fibers that ended while stacks were
/// measured. The result is in alphabetical order.
///
/// A depth is that of the deepest word that is not zero, on pages that are in memory. Fibers of other
/// threads may run meanwhile, so that their depths may be slightly outdated. Any thread may call it.
///
/// \throws std::bad_alloc if there is no memory
std::vector<stack_usage> stack_usages();

/// \returns how deep the caller's stack has been used, in bytes; 0 if the stack is not one of Sennit's
std::size_t stack_high_water() noexcept;

}  // namespace sennit::inline v0_1
