// How far the checks of a function are from each other, in a line of a file:
//
//   luaV_execute: 12 checks, at most 341 instructions without; calls luaH_get, printf, (pointer)
//
// Counted as described in distance.hpp, on any path through the function, from a check (or its entry) to the
// next (or its end). A called function counts if it is in the same unit and was compiled before: at most its
// path to its own first check. All other calls are named.
#pragma once

#include <llvm/CodeGen/MachineFunction.h>

namespace sennit::compiler {

// With the marks of trip_counts.hpp still in it.
void report_polls(const llvm::MachineFunction& function, llvm::StringRef file);

}  // namespace sennit::compiler
