// How far the checks of a function are from each other, in a line of a file:
//
//   luaV_execute: 12 checks, at most 341 instructions without; calls luaH_get, printf, (pointer)
//
// Counted as distance.hpp says, in any way through the function, from a check (or its entry) to the next (or
// its end). What is called counts where it is a function of the same unit that has been compiled before, at
// most as far as it goes itself without a check; all other calls are named.
#pragma once

#include <llvm/CodeGen/MachineFunction.h>

namespace sennit::compiler {

// With the marks of trip_counts.hpp still in it.
void report_polls(const llvm::MachineFunction& function, llvm::StringRef file);

}  // namespace sennit::compiler
