// The registers that values are allocated to, each once, in its widest form.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/MC/MCRegister.h>

namespace sennit::compiler {

llvm::SmallVector<llvm::MCPhysReg, 64> widest_registers(const llvm::MachineFunction& function);

}  // namespace sennit::compiler
