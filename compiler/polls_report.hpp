// How far the checks of a function are from each other, in a line of a file:
//
//   luaV_execute: 12 checks, at most 341 instructions without, in 930 cycles; calls luaH_get, (pointer)
//
// Counted as described in distance.hpp, on any path through the function, from a check (or its entry) to the
// next (or its end). A called function counts if it is in the same unit and was compiled before: at most its
// path to its own first check. All other calls are named.
#pragma once

#include <llvm/CodeGen/MachineFunction.h>

#include <optional>
#include <string>

namespace sennit::compiler {

// The name of the function that an instruction calls; none: through a pointer.
std::optional<std::string> called_name(const llvm::MachineInstr& call);

// With the marks of trip_counts.hpp still in it.
void report_polls(const llvm::MachineFunction& function, llvm::StringRef file);

}  // namespace sennit::compiler
