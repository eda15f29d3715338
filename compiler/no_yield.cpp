#include "no_yield.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/Statistic.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <string>

#include "asm_marks.hpp"
#include "early.hpp"

#define DEBUG_TYPE "sennit-no-yield"

namespace sennit::compiler {

namespace {

ALWAYS_ENABLED_STATISTIC(functions_marked, "Number of functions without checks");

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

bool says_no_yield(const llvm::Value* annotation) {
  const auto* said = llvm::dyn_cast<llvm::GlobalVariable>(annotation->stripPointerCasts());
  const auto* text = said != nullptr && said->hasInitializer()
                         ? llvm::dyn_cast<llvm::ConstantDataSequential>(said->getInitializer())
                         : nullptr;
  return text != nullptr && text->isCString() && text->getAsCString() == "sennit::no_yield";
}

// Functions with __attribute__((annotate("sennit::no_yield"))).
llvm::SmallPtrSet<const llvm::Function*, 16> annotated_in(const llvm::Module& module) {
  llvm::SmallPtrSet<const llvm::Function*, 16> found;
  const llvm::GlobalVariable* all = module.getGlobalVariable("llvm.global.annotations");
  if (all == nullptr || !all->hasInitializer())
    return found;
  for (const llvm::Use& each : all->getInitializer()->operands())
    if (const auto* entry = llvm::dyn_cast<llvm::ConstantStruct>(&each))  // what, text, file, line, arguments
      if (const auto* what = llvm::dyn_cast<llvm::Function>(entry->getOperand(0)->stripPointerCasts());
          what != nullptr && says_no_yield(entry->getOperand(1)))
        found.insert(what);
  return found;
}

// Local variables with it, as whose value a lambda is not marked.
void warn_of_annotated_variables(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& each : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&each);
          call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::var_annotation &&
          says_no_yield(call->getArgOperand(1)))
        module.getContext().diagnose(llvm::DiagnosticInfoUnsupported(
            function,
            "SENNIT_NO_YIELD marks a variable here, and no function: a lambda has it behind its parameters",
            call->getDebugLoc(), llvm::DS_Warning));
}

// What a lambda without captures is as a pointer to a function: that only calls the lambda's own.
bool is_thunk_of(const llvm::Function& function, const llvm::SmallPtrSetImpl<const llvm::Function*>& those) {
  return function.getName().contains("8__invokeE") &&
         llvm::any_of(llvm::instructions(function), [&](const llvm::Instruction& each) {
           const auto* call = llvm::dyn_cast<llvm::CallBase>(&each);
           return call != nullptr && those.contains(call->getCalledFunction());
         });
}

// src/preempt/no_yield_calls.cpp has each of them with sennit_ before its name.
constexpr llvm::StringLiteral replaced[] = {"pthread_mutex_lock",
                                            "pthread_mutex_trylock",
                                            "pthread_mutex_timedlock",
                                            "pthread_mutex_clocklock",
                                            "pthread_mutex_unlock",
                                            "pthread_rwlock_rdlock",
                                            "pthread_rwlock_tryrdlock",
                                            "pthread_rwlock_timedrdlock",
                                            "pthread_rwlock_clockrdlock",
                                            "pthread_rwlock_wrlock",
                                            "pthread_rwlock_trywrlock",
                                            "pthread_rwlock_timedwrlock",
                                            "pthread_rwlock_clockwrlock",
                                            "pthread_rwlock_unlock",
                                            "pthread_spin_lock",
                                            "pthread_spin_trylock",
                                            "pthread_spin_unlock",
                                            "mtx_lock",
                                            "mtx_trylock",
                                            "mtx_timedlock",
                                            "mtx_unlock",
                                            "flockfile",
                                            "ftrylockfile",
                                            "funlockfile",
                                            "__cxa_guard_acquire",
                                            "__cxa_guard_release",
                                            "__cxa_guard_abort",
                                            "pthread_once",
                                            "call_once",
                                            "dl_iterate_phdr",
                                            "fork",
                                            "exit",
                                            "quick_exit"};

bool replace_calls(llvm::Module& module) {
  bool changed = false;
  for (const llvm::StringRef name : replaced) {
    llvm::Function* const function = module.getFunction(name);
    if (function == nullptr || !function->isDeclaration() || function->use_empty())
      continue;
    const std::string ours = ("sennit_" + name).str();
    llvm::Function* const known = module.getFunction(ours);
    if (known != nullptr && !known->isDeclaration())
      continue;                                                // it calls the other
    function->setLinkage(llvm::GlobalValue::ExternalLinkage);  // a weak reference would not link it
    if (known != nullptr)
      function->replaceAllUsesWith(known);
    else
      function->setName(ours);
    changed = true;
  }
  return changed;
}

}  // namespace

bool is_no_yield(const llvm::Function& function) {
  return function.hasFnAttribute(attribute);
}

void mark_as_no_yield(llvm::Function& function) {
  if (is_no_yield(function) || function.hasFnAttribute(llvm::Attribute::Naked))
    return;
  put_mark(*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca(), entered, "~{memory}");
  for (llvm::BasicBlock& block : function)
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) {
      llvm::Instruction* const last = block.getTerminatingMustTailCall();
      put_mark(last != nullptr ? *last : *block.getTerminator(), left, "~{memory}");
    }
  function.addFnAttr(attribute);
  ++functions_marked;
}

void call_libc_itself(llvm::Function& function) {
  for (llvm::Instruction& each : llvm::instructions(function)) {
    auto* const call = llvm::dyn_cast<llvm::CallBase>(&each);
    const llvm::Function* const callee = call != nullptr ? call->getCalledFunction() : nullptr;
    llvm::StringRef name = callee != nullptr ? callee->getName() : "";
    if (name.consume_front("sennit_") && llvm::is_contained(replaced, name))
      call->setCalledFunction(function.getParent()->getOrInsertFunction(name, callee->getFunctionType(),
                                                                        callee->getAttributes()));
  }
}

llvm::PreservedAnalyses mark_no_yield::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  llvm::SmallPtrSet<const llvm::Function*, 16> of_fibers;
  for (llvm::Function& function : module) {
    if (!function.getName().starts_with("_ZN6sennit4v0_16detail9call_bodyI"))
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
  const auto annotated = annotated_in(module);
  warn_of_annotated_variables(module);
  bool changed = replace_calls(module) || !of_fibers.empty();
  for (llvm::Function& function : module) {
    const bool is_ours = is_in_namespace(function.getName()) && !of_fibers.contains(&function);
    if (!function.isDeclaration() &&
        (is_ours || annotated.contains(&function) || is_thunk_of(function, annotated))) {
      mark_as_no_yield(function);
      changed = true;
    }
  }
  changed |= keep_checks_from_early_functions(module);
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

unsigned no_yield_depth::after(const llvm::MachineInstr& instruction, unsigned depth) {
  constexpr unsigned most = 15;  // calls of theirs that are inlined into each other
  const llvm::StringRef text = assembly_of(instruction);
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
