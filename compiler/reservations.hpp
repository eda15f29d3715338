// No check may stand, on AArch64, between an exclusive load and the exclusive store that depends on it.
//
// The store succeeds if no other thread wrote there since the load that the CPU remembers. The CPU remembers
// one load, not its fiber. If a fiber yielded between the two, its store could succeed by a later load of
// another fiber, although its value was computed from an older one.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/CodeGen/MachineFunction.h>

namespace sennit::compiler {

class reservations {
public:
  explicit reservations(const llvm::MachineFunction& function);

  // Returns true if an exclusive store may follow without an exclusive load of its own before it.
  bool live_out(const llvm::MachineBasicBlock& block) const;
  static bool live_before(const llvm::MachineInstr& instruction, bool live_after);

private:
  llvm::SmallPtrSet<const llvm::MachineBasicBlock*, 8> live_in_;
};

}  // namespace sennit::compiler
