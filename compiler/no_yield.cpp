#include "no_yield.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace sennit::compiler {

namespace {

constexpr llvm::StringLiteral attribute = "sennit-no-yield";
constexpr llvm::StringLiteral entered = "# sennit: no yield from here";
constexpr llvm::StringLiteral left = "# sennit: no yield until here";

bool is_in_namespace(llvm::StringRef name) {
  if (!name.consume_front("_Z"))
    return false;
  name.consume_front("Z");  // of a function, as its lambdas are
  if (!name.consume_front("N"))
    return false;
  for (const char* qualifier : {"V", "K", "R", "O"})
    name.consume_front(qualifier);
  return name.starts_with("6sennit");
}

void put_before(llvm::Instruction& at, llvm::StringRef text) {
  llvm::IRBuilder<> builder(&at);
  auto* const type = llvm::FunctionType::get(builder.getVoidTy(), false);
  builder.CreateCall(llvm::InlineAsm::get(type, text, "~{memory}", true));
}

void mark(llvm::Function& function) {
  put_before(*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca(), entered);
  for (llvm::BasicBlock& block : function)
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) {
      llvm::Instruction* const last = block.getTerminatingMustTailCall();
      put_before(last != nullptr ? *last : *block.getTerminator(), left);
    }
  function.addFnAttr(attribute);
}

}  // namespace

bool is_no_yield(const llvm::Function& function) {
  return function.hasFnAttribute(attribute);
}

llvm::PreservedAnalyses mark_no_yield::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  llvm::SmallPtrSet<const llvm::Function*, 16> of_fibers;
  for (llvm::Function& function : module) {
    if (!function.getName().starts_with("_ZN6sennit6detail9call_bodyI"))
      continue;
    for (llvm::Instruction& each : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&each); call != nullptr && !call->isInlineAsm()) {
        const llvm::Function* callee = call->getCalledFunction();
        if (callee == nullptr || callee->isIntrinsic() || callee->getName().starts_with("_ZN6sennit"))
          continue;
        call->addFnAttr(llvm::Attribute::NoInline);
        of_fibers.insert(callee);
      }
  }
  bool changed = !of_fibers.empty();
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && is_in_namespace(function.getName()) && !is_no_yield(function) &&
        !of_fibers.contains(&function) && !function.hasFnAttribute(llvm::Attribute::Naked)) {
      mark(function);
      changed = true;
    }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

unsigned no_yield_depth::after(const llvm::MachineInstr& instruction, unsigned depth) {
  constexpr unsigned most = 15;  // calls of theirs that are inlined into each other
  if (!instruction.isInlineAsm())
    return depth;
  const llvm::StringRef text = instruction.getOperand(0).getSymbolName();
  if (text == entered)
    return std::min(depth + 1, most);
  return text == left && depth != 0 ? depth - 1 : depth;
}

no_yield_depth::no_yield_depth(const llvm::MachineFunction& function) {
  bool any = false;
  for (const llvm::MachineBasicBlock& block : function)
    for (const llvm::MachineInstr& each : block)
      any |= after(each, 0) != 0;
  for (bool changed = any; changed;) {
    changed = false;
    for (const llvm::MachineBasicBlock& block : function) {
      unsigned depth = at_begin(block);
      for (const llvm::MachineInstr& each : block)
        depth = after(each, depth);
      for (const llvm::MachineBasicBlock* next : block.successors())
        if (unsigned& known = depth_[next]; known < depth) {
          known = depth;
          changed = true;
        }
    }
  }
}

}  // namespace sennit::compiler
