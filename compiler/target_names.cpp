#include "target_names.hpp"

#include <llvm/Support/ErrorHandling.h>

namespace sennit::compiler {

namespace {

template <class Name>
unsigned find(unsigned count, llvm::StringRef name, Name name_of) {
  for (unsigned i = 1; i < count; ++i)
    if (llvm::StringRef(name_of(i)).equals_insensitive(name))
      return i;
  llvm::report_fatal_error("sennit: this LLVM's target has no " + name);
}

}  // namespace

unsigned opcode_named(const llvm::TargetInstrInfo& instructions, llvm::StringRef name) {
  return find(instructions.getNumOpcodes(), name, [&](unsigned i) { return instructions.getName(i); });
}

llvm::MCRegister register_named(const llvm::TargetRegisterInfo& registers, llvm::StringRef name) {
  return find(registers.getNumRegs(), name, [&](unsigned i) { return registers.getName(i); });
}

unsigned operand_flag_named(const llvm::TargetInstrInfo& instructions, llvm::StringRef name) {
  for (const auto& known : {instructions.getSerializableDirectMachineOperandTargetFlags(),
                            instructions.getSerializableBitmaskMachineOperandTargetFlags()})
    for (const auto& [flag, its_name] : known)
      if (its_name == name)
        return flag;
  llvm::report_fatal_error("sennit: this LLVM's target has no " + name);
}

}  // namespace sennit::compiler
