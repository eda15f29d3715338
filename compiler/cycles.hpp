// Cycles of a function's control flow, also those with several entries.
#pragma once

#include <llvm/CodeGen/MachineBasicBlock.h>

#include <vector>

namespace sennit::compiler {

using blocks = std::vector<llvm::MachineBasicBlock*>;

// The strongly connected components of the given blocks, with the edges among them. Each component comes
// after those that it reaches.
std::vector<blocks> components(const blocks& among);

// A part with an edge that stays in it.
bool is_cycle(const blocks& part);

// Those parts that are one.
std::vector<blocks> cycles_among(const blocks& among);

}  // namespace sennit::compiler
