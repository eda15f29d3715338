#include "reservations.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

namespace sennit::compiler {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;

bool reservations::live_before(const MachineInstr& instruction, bool live_after) {
  const llvm::MachineFunction& function = *instruction.getMF();
  if (!function.getTarget().getTargetTriple().isAArch64())
    return false;
  const llvm::StringRef name = function.getSubtarget().getInstrInfo()->getName(instruction.getOpcode());
  const auto is_any = [&](std::initializer_list<llvm::StringRef> prefixes) {
    return llvm::any_of(prefixes, [&](llvm::StringRef each) { return name.starts_with(each); });
  };
  if (is_any({"STXR", "STLXR", "STXP", "STLXP"}))
    return true;
  return live_after && !is_any({"LDXR", "LDAXR", "LDXP", "LDAXP"});
}

bool reservations::live_out(const MachineBasicBlock& block) const {
  return llvm::any_of(block.successors(),
                      [&](const MachineBasicBlock* next) { return live_in_.contains(next); });
}

reservations::reservations(const llvm::MachineFunction& function) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const MachineBasicBlock& block : llvm::reverse(function)) {
      bool live = live_out(block);
      for (const MachineInstr& each : llvm::reverse(block))
        live = live_before(each, live);
      changed |= live && live_in_.insert(&block).second;
    }
  }
}

}  // namespace sennit::compiler
