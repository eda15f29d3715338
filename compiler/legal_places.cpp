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

std::vector<bool> legal_places(const MachineBasicBlock& block, const llvm::TargetInstrInfo& instructions,
                               unsigned no_yield, bool before_calls) {
  std::vector<bool> legal;
  bool left = false;       // an epilogue has begun
  bool arguments = false;  // are being pushed
  bool label = false;      // begins the call that follows
  bool end = false;        // a terminator has been seen
  std::size_t prologue_until = 0;
  for (const MachineInstr& each : block) {
    if (each.getFlag(MachineInstr::FrameSetup))
      prologue_until = legal.size() + 1;
    legal.push_back(no_yield == 0 && !left && !arguments && !label && !end && !each.isMetaInstruction() &&
                    !each.isPosition());
    no_yield = no_yield_depth::after(each, no_yield);
    left |= each.getFlag(MachineInstr::FrameDestroy);
    end |= each.isTerminator();
    end |= before_calls && each.isCall();
    if (each.isCall())
      arguments = false;
    else if (is_push(each, instructions) && !each.getFlag(MachineInstr::FrameSetup))
      arguments = true;
    if (!each.isDebugInstr())
      label = each.isEHLabel() && &each != &*block.getFirstNonDebugInstr();
  }
  legal.push_back(no_yield == 0 && !left && !arguments && !label && !end);
  std::fill_n(legal.begin(), prologue_until, false);
  return legal;
}

}  // namespace sennit::compiler
