// Where no check may stand on AArch64: between an exclusive load and the exclusive store that depends on it.
//
// The store succeeds if nobody else wrote there since the load that the CPU remembers. It remembers one load,
// not which fiber's: one that yields between the two would have its store succeed by what another loaded
// later, though what it computed is of an older value.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/CodeGen/MachineFunction.h>

namespace sennit::compiler {

class reservations {
public:
  explicit reservations(const llvm::MachineFunction& function);

  // An exclusive store may follow with no load of its own before it.
  bool live_out(const llvm::MachineBasicBlock& block) const;
  static bool live_before(const llvm::MachineInstr& instruction, bool live_after);

private:
  llvm::SmallPtrSet<const llvm::MachineBasicBlock*, 8> live_in_;
};

}  // namespace sennit::compiler
