// Where in a block a check may be at all, whatever is live there.
#pragma once

#include <llvm/CodeGen/MachineBasicBlock.h>
#include <llvm/CodeGen/TargetInstrInfo.h>

#include <vector>

namespace sennit::compiler {

// Before which instructions there is a place, and whether at the end: not within a prologue or an
// epilogue, a bundle, the terminators, a call's arguments on the stack; nor before what belongs to the
// instruction before it (unwind information, labels). `no_yield`: how deep the block begins in no-yield code.
// `before_calls`: only what lies before the first of them.
std::vector<bool> legal_places(const llvm::MachineBasicBlock& block,
                               const llvm::TargetInstrInfo& instructions, unsigned no_yield,
                               bool before_calls);

}  // namespace sennit::compiler
