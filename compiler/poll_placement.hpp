// The choice of the places of a function's checks (polls.hpp describes it).
#pragma once

#include <llvm/CodeGen/MachineBlockFrequencyInfo.h>
#include <llvm/CodeGen/MachineDominators.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/MachineOptimizationRemarkEmitter.h>

#include "poll_code.hpp"

namespace sennit::compiler {

// Of the function as it is before checks.
struct placement_analyses {
  llvm::MachineDominatorTree& dominators;  // its queries are not const
  const llvm::MachineLoopInfo& loops;
  const llvm::MachineBlockFrequencyInfo& frequencies;
  llvm::MachineOptimizationRemarkEmitter& remarks;
};

// Inserts the checks. Returns whether it changed the function.
bool place_polls(llvm::MachineFunction& function, poll_code& code, const placement_analyses& analyses);

}  // namespace sennit::compiler
