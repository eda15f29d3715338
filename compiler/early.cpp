#include "early.hpp"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "no_yield.hpp"

namespace sennit::compiler {

namespace {

using functions = llvm::SmallSetVector<llvm::Function*, 16>;

void add_if_defined(functions& to, llvm::Value* value) {
  auto* const function = llvm::dyn_cast<llvm::Function>(value->stripPointerCastsAndAliases());
  if (function != nullptr && !function->isDeclaration())
    to.insert(function);
}

// The functions that an instruction calls, and those that it passes to a call.
llvm::SmallVector<llvm::Use*, 8> functions_used_by(llvm::Instruction& instruction) {
  llvm::SmallVector<llvm::Use*, 8> found;
  if (auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    found.push_back(&call->getCalledOperandUse());
    for (llvm::Use& argument : call->args())
      found.push_back(&argument);
  }
  return found;
}

functions resolvers_of(llvm::Module& module) {
  functions found;
  for (llvm::GlobalIFunc& each : module.ifuncs())
    add_if_defined(found, each.getResolver());
  return found;
}

functions with_callees(functions all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (llvm::Instruction& each : llvm::instructions(all[i]))
      for (llvm::Use* used : functions_used_by(each))
        add_if_defined(all, used->get());
  return all;
}

llvm::Function* copy_of(llvm::Function& function) {
  llvm::ValueToValueMapTy mapped;
  llvm::Function* const copy = llvm::CloneFunction(&function, mapped);
  copy->setName(function.getName() + ".early");
  copy->setLinkage(llvm::GlobalValue::InternalLinkage);
  copy->setComdat(nullptr);
  return copy;
}

// Also used by code that runs later. A function that cannot be copied loses its checks there, too: one that
// another definition may replace at the link, or with labels whose addresses are taken.
bool wants_copy(const llvm::Function& function, const functions& early) {
  if (function.isInterposable() ||
      llvm::any_of(function, [](const llvm::BasicBlock& each) { return each.hasAddressTaken(); }))
    return false;
  if (!function.hasLocalLinkage())
    return true;
  return llvm::any_of(function.uses(), [&](const llvm::Use& use) {
    auto* const user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
    return user == nullptr || !early.contains(user->getFunction());
  });
}

}  // namespace

bool keep_checks_from_early_functions(llvm::Module& module) {
  const functions resolvers = resolvers_of(module);
  const functions all = with_callees(resolvers);
  functions early;
  llvm::DenseMap<llvm::Value*, llvm::Function*> copies;
  for (llvm::Function* each : all)
    if (resolvers.contains(each) || is_no_yield(*each) || !wants_copy(*each, all))
      early.insert(each);
    else
      early.insert(copies[each] = copy_of(*each));
  for (llvm::Function* each : early) {
    for (llvm::Instruction& instruction : llvm::instructions(each))
      for (llvm::Use* used : functions_used_by(instruction))
        if (llvm::Function* const copy = copies.lookup(used->get()->stripPointerCastsAndAliases()))
          used->set(copy);
    mark_as_no_yield(*each);
    call_libc_itself(*each);
  }
  return !early.empty();
}

}  // namespace sennit::compiler
