#include "widest_registers.hpp"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include <iterator>

namespace sennit::compiler {

llvm::SmallVector<llvm::MCPhysReg, 64> widest_registers(const llvm::MachineFunction& function) {
  const llvm::TargetRegisterInfo& target = *function.getSubtarget().getRegisterInfo();
  const llvm::BitVector allocatable = target.getAllocatableSet(function);
  llvm::BitVector seen(target.getNumRegUnits());
  llvm::SmallVector<llvm::MCPhysReg, 64> found;
  // The widest first: they hide their parts.
  const auto parts = [&](llvm::MCPhysReg each) {
    const auto all = target.subregs(each);
    return std::distance(all.begin(), all.end());
  };
  llvm::SmallVector<llvm::MCPhysReg, 256> widest_first;
  for (const unsigned each : allocatable.set_bits())
    widest_first.push_back(static_cast<llvm::MCPhysReg>(each));
  llvm::sort(widest_first, [&](llvm::MCPhysReg one, llvm::MCPhysReg other) {
    return parts(one) != parts(other) ? parts(one) > parts(other) : one < other;
  });
  for (const llvm::MCPhysReg each : widest_first) {
    if (llvm::any_of(target.regunits(each), [&](unsigned unit) { return seen.test(unit); }))
      continue;
    for (const unsigned unit : target.regunits(each))
      seen.set(unit);
    found.push_back(each);
  }
  return found;
}

}  // namespace sennit::compiler
