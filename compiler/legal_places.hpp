// Where in a block a check may be at all, whatever is live there.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/CodeGen/MachineBasicBlock.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/TargetInstrInfo.h>

#include <vector>

namespace sennit::compiler {

// The labels that begin and end the calls with landing pads.
class call_labels {
public:
  explicit call_labels(const llvm::MachineFunction& function);
  bool is_begin(const llvm::MachineInstr& each) const { return is_among(begins_, each); }
  bool is_end(const llvm::MachineInstr& each) const { return is_among(ends_, each); }

private:
  using labels = llvm::SmallPtrSet<const llvm::MCSymbol*, 16>;
  static bool is_among(const labels& those, const llvm::MachineInstr& each) {
    return each.isEHLabel() && those.contains(each.getOperand(0).getMCSymbol());
  }

  labels begins_, ends_;
};

// Returns for each instruction whether a check may stand before it, and as the last element whether one may
// stand at the end of the block. There is no place within a prologue or an epilogue, a bundle, the
// terminators or a call's arguments on the stack, nor before what belongs to the preceding instruction
// (unwind information). A call with a landing pad has a place before its first label, and none up to its last
// label: a check in between would divide the range that the exception table names. `no_yield`: the depth of
// no-yield code at the block's beginning. `before_calls`: only places before the block's first call.
std::vector<bool> legal_places(const llvm::MachineBasicBlock& block,
                               const llvm::TargetInstrInfo& instructions, const call_labels& labels,
                               unsigned no_yield, bool before_calls);

}  // namespace sennit::compiler
