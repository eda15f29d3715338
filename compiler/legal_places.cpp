#include "legal_places.hpp"

#include <llvm/CodeGen/MachineInstr.h>

#include <algorithm>

#include "no_yield.hpp"

namespace sennit::compiler {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;

namespace {

bool is_push(const MachineInstr& instruction, const llvm::TargetInstrInfo& instructions) {
  return instructions.getName(instruction.getOpcode()).starts_with("PUSH") && !instruction.isInlineAsm();
}

}  // namespace

call_labels::call_labels(const llvm::MachineFunction& function) {
  for (const llvm::LandingPadInfo& pad : function.getLandingPads()) {
    begins_.insert(pad.BeginLabels.begin(), pad.BeginLabels.end());
    ends_.insert(pad.EndLabels.begin(), pad.EndLabels.end());
  }
}

std::vector<bool> legal_places(const MachineBasicBlock& block, const llvm::TargetInstrInfo& instructions,
                               const call_labels& labels, unsigned no_yield, bool before_calls) {
  std::vector<bool> legal;
  bool left = false;       // an epilogue has begun
  bool arguments = false;  // are being pushed
  bool call = false;       // between the labels of a call
  bool end = false;        // a terminator has been seen
  std::size_t illegal_until = 0;
  for (const MachineInstr& each : block) {
    const bool ends_call = labels.is_end(each);
    // Within a prologue, or in a call that an earlier block begins.
    if (each.getFlag(MachineInstr::FrameSetup) || (ends_call && !call))
      illegal_until = legal.size() + 1;
    const bool begins_call = labels.is_begin(each);
    legal.push_back(no_yield == 0 && !left && !arguments && !call && !end &&
                    (begins_call || (!each.isMetaInstruction() && !each.isPosition())));
    call = begins_call || (call && !ends_call);
    no_yield = no_yield_depth::after(each, no_yield);
    left |= each.getFlag(MachineInstr::FrameDestroy);
    end |= each.isTerminator();
    end |= before_calls && each.isCall();
    if (each.isCall())
      arguments = false;
    else if (is_push(each, instructions) && !each.getFlag(MachineInstr::FrameSetup))
      arguments = true;
  }
  legal.push_back(no_yield == 0 && !left && !arguments && !call && !end);
  std::fill_n(legal.begin(), illegal_until, false);
  return legal;
}

}  // namespace sennit::compiler
