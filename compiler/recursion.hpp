// Which calls of a function may come back to it before they return.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/CodeGen/MachineInstr.h>
#include <llvm/IR/Function.h>

namespace sennit::compiler {

class recursion {
public:
  explicit recursion(const llvm::Function& function) : function_(function) {}

  // It calls the function, directly or indirectly within the unit, or an unknown function (of another unit,
  // or by a pointer), which might. Functions that code generation itself calls, such as memcpy, do not call
  // back, nor do malloc, strlen and others of the C library.
  bool may_begin_at(const llvm::MachineInstr& call);

private:
  bool comes_back(const llvm::Function& callee);

  const llvm::Function& function_;
  llvm::DenseMap<const llvm::Function*, bool> known_;
};

// What a call names; null: by a pointer, or not a function of the unit's.
const llvm::Function* callee_of(const llvm::MachineInstr& call);

}  // namespace sennit::compiler
