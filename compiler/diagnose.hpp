// Diagnostics for a function, in clang's form, with its line if there are line tables.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/Twine.h>
#include <llvm/CodeGen/MachineBasicBlock.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>

#include <string>

namespace sennit::compiler {

inline void diagnose(const llvm::MachineBasicBlock& at, llvm::DiagnosticSeverity severity,
                     llvm::StringRef what) {
  const llvm::Function& function = at.getParent()->getFunction();
  const std::string text = llvm::demangle(function.getName()) + ": " + what.str();
  const llvm::Twine message(text);
  llvm::DebugLoc line;
  for (const llvm::MachineInstr& each : at)
    if (!line && !each.isDebugInstr())
      line = each.getDebugLoc();
  function.getContext().diagnose(llvm::DiagnosticInfoUnsupported(function, message, line, severity));
}

}  // namespace sennit::compiler
