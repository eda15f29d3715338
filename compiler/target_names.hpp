// A target's opcodes, registers and relocations by their names: its own header is none of those that are
// installed. What has no such name ends the compiler.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

namespace sennit::compiler {

unsigned opcode_named(const llvm::TargetInstrInfo& instructions, llvm::StringRef name);
llvm::MCRegister register_named(const llvm::TargetRegisterInfo& registers, llvm::StringRef name);
unsigned operand_flag_named(const llvm::TargetInstrInfo& instructions, llvm::StringRef name);

// A target's, looked up once: made of its instructions and registers.
template <class Encodings>
const Encodings& encodings_of(const llvm::MachineFunction& function) {
  static const Encodings only(*function.getSubtarget().getInstrInfo(),
                              *function.getSubtarget().getRegisterInfo());
  return only;
}

}  // namespace sennit::compiler
