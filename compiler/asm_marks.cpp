#include "asm_marks.hpp"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IRBuilder.h>

namespace sennit::compiler {

namespace {

constexpr llvm::StringLiteral switch_mark = "sennit: a switch";

}  // namespace

llvm::StringRef assembly_of(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const auto* const code =
      call != nullptr ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  return code != nullptr ? llvm::StringRef(code->getAsmString()) : "";
}

llvm::StringRef assembly_of(const llvm::MachineInstr& instruction) {
  return instruction.isInlineAsm() ? instruction.getOperand(llvm::InlineAsm::MIOp_AsmString).getSymbolName()
                                   : "";
}

llvm::CallInst& put_mark(llvm::Instruction& before, const llvm::Twine& mark, llvm::StringRef clobbers) {
  llvm::IRBuilder<> builder(&before);
  auto* const type = llvm::FunctionType::get(builder.getVoidTy(), false);
  return *builder.CreateCall(llvm::InlineAsm::get(type, mark.str(), clobbers, true));
}

bool is_switch(const llvm::Instruction& instruction) {
  return assembly_of(instruction).contains(switch_mark);
}

bool is_switch(const llvm::MachineInstr& instruction) {
  return assembly_of(instruction).contains(switch_mark);
}

}  // namespace sennit::compiler
