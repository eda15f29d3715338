#include "fiber_tls.hpp"

#include <llvm/ADT/Statistic.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/TargetParser/Triple.h>

#include "for_link.hpp"

#define DEBUG_TYPE "sennit-fiber-tls"

namespace sennit::compiler {

namespace {

using namespace llvm;

ALWAYS_ENABLED_STATISTIC(reads_hoisted, "Number of reads of thread-local addresses moved out of loops");
ALWAYS_ENABLED_STATISTIC(reads_lowered,
                         "Number of reads of thread-local addresses made from the thread pointer");

cl::opt<bool> asked_for("sennit-fiber-tls",
                        cl::desc("No thread-local address is kept across a switch (Sennit)"));

// Marks a function that reads an address. Its value is the step reached: an LTO build lowers at the link.
constexpr StringLiteral attribute = "sennit-tls-address";
constexpr StringLiteral compiled = "compiled";
constexpr StringLiteral prefix = "sennit.tls.";  // of its name

MemoryEffects reads_thread() {
  return MemoryEffects::inaccessibleMemOnly(ModRefInfo::Ref);
}

CallInst* call_assembly(IRBuilder<>& builder, StringRef code, StringRef constraints, Value* operand,
                        bool is_volatile) {
  auto* type = FunctionType::get(builder.getPtrTy(), {operand->getType()}, false);
  CallInst* call = builder.CreateCall(InlineAsm::get(type, code, constraints, is_volatile), {operand});
  call->setDoesNotThrow();
  call->setMemoryEffects(reads_thread());
  return call;
}

bool is_read_of_address(const Instruction& instruction) {
  const auto* call = dyn_cast<IntrinsicInst>(&instruction);
  return call != nullptr && call->getIntrinsicID() == Intrinsic::threadlocal_address;
}

// The function that reads the address of `variable`. Made once.
Function* address_function(GlobalValue& variable) {
  Module& module = *variable.getParent();
  const std::string name = (prefix + variable.getName()).str();
  if (Function* made = module.getFunction(name))
    return made;
  auto* type = FunctionType::get(variable.getType(), false);
  auto* function = Function::createWithDefaultAttr(type, GlobalValue::InternalLinkage, 0, name, &module);
  function->addFnAttr(attribute);
  function->addFnAttr(Attribute::NoInline);
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr(Attribute::WillReturn);
  function->addFnAttr(Attribute::Speculatable);
  function->setMemoryEffects(reads_thread());
  function->addRetAttr(Attribute::NonNull);
  IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", function));
  // Without the empty assembly the optimizer would find out that nothing is read.
  builder.CreateRet(call_assembly(builder, "", "=r,0", builder.CreateThreadLocalAddress(&variable), false));
  return function;
}

class fiber_tls : public PassInfoMixin<fiber_tls> {
public:
  static bool isRequired() { return true; }

  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    SmallVector<Constant*, 32> variables;
    for (GlobalValue& each : module.global_values())
      if (each.isThreadLocal())
        variables.push_back(&each);
    convertUsersOfConstantsToInstructions(variables);
    for (Constant* each : variables)
      read_anew_at_each_use(cast<GlobalValue>(*each));
    for (Function& function : module)
      if (is_of_thread(function.getName()))
        forget_that_it_is_constant(function);
    return PreservedAnalyses::none();
  }

private:
  // Clang asks the intrinsic for the address, but not where it initialises at run time.
  static void read_anew_at_each_use(GlobalValue& variable) {
    SmallVector<Use*, 32> uses;
    for (Use& each : variable.uses())
      if (isa<Instruction>(each.getUser()))
        uses.push_back(&each);
    for (Use* each : uses) {
      Use& use = *each;
      auto* user = cast<Instruction>(use.getUser());
      if (use.get() != &variable || user->getFunction()->hasFnAttribute(attribute))
        continue;
      auto* merge = dyn_cast<PHINode>(user);
      IRBuilder<> builder(merge != nullptr ? merge->getIncomingBlock(use)->getTerminator() : user);
      CallInst* address = builder.CreateCall(address_function(variable));
      if (is_read_of_address(*user)) {
        user->replaceAllUsesWith(address);
        user->eraseFromParent();
      } else if (merge != nullptr) {
        merge->setIncomingValueForBlock(merge->getIncomingBlock(use), address);
      } else {
        use.set(address);
      }
    }
  }

  static void forget_that_it_is_constant(Function& function) {
    if (function.doesNotAccessMemory())
      function.setMemoryEffects(reads_thread());
    for (User* user : function.users())
      if (auto* call = dyn_cast<CallBase>(user))
        call->setMemoryEffects(call->getAttributes().getMemoryEffects() | reads_thread());
  }
};

// LLVM moves what reads memory out of loops that write none at all. Here a loop may write any, as long as it
// holds no call that may switch.
class hoist_fiber_tls : public PassInfoMixin<hoist_fiber_tls> {
public:
  PreservedAnalyses run(Function& function, FunctionAnalysisManager& analyses) {
    if (none_of(instructions(function), is_read))
      return PreservedAnalyses::all();
    for (Loop* each : analyses.getResult<LoopAnalysis>(function))
      hoist(*each, analyses.getResult<OptimizationRemarkEmitterAnalysis>(function));
    PreservedAnalyses kept;
    kept.preserveSet<CFGAnalyses>();
    return kept;
  }

private:
  static bool is_read(const Instruction& instruction) {
    const auto* call = dyn_cast<CallInst>(&instruction);
    const Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
    return callee != nullptr && callee->arg_empty() &&
           (callee->hasFnAttribute(attribute) || is_of_thread(callee->getName())) &&
           call->getMemoryEffects() == reads_thread();
  }

  static bool may_switch(const Instruction& instruction) {
    const auto* call = dyn_cast<CallBase>(&instruction);
    const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
    return call != nullptr && !(intrinsic != nullptr && intrinsic->isAssumeLikeIntrinsic()) &&
           isModSet(call->getMemoryEffects().getModRef(IRMemLocation::InaccessibleMem));
  }

  static void hoist(Loop& loop, OptimizationRemarkEmitter& remarks) {
    BasicBlock* before = loop.getLoopPredecessor();
    if (before == nullptr || may_switch(*before->getTerminator()) ||
        any_of(loop.blocks(), [](BasicBlock* each) { return any_of(*each, may_switch); })) {
      for (Loop* each : loop)
        hoist(*each, remarks);
      return;
    }
    for (BasicBlock* block : loop.blocks())
      for (Instruction& each : make_early_inc_range(*block))
        if (is_read(each)) {
          remarks.emit([&] {
            return OptimizationRemark(DEBUG_TYPE, "Hoisted", &each)
                   << "moved the read of a thread-local address out of the loop";
          });
          ++reads_hoisted;
          each.moveBefore(before->getTerminator());
        }
  }
};

// The variable whose address `function` reads, if that is a constant away from the thread pointer in every
// program that the unit may become part of.
GlobalVariable* at_constant_offset(Function& function) {
  const Module& module = *function.getParent();
  const Triple target(module.getTargetTriple());
  const bool is_library =
      module.getPICLevel() != PICLevel::NotPIC && module.getPIELevel() == PIELevel::Default;
  if (target.getArch() != Triple::x86_64 || target.isX32() || !target.isOSBinFormatELF() || is_library ||
      module.getCodeModel() == CodeModel::Large)
    return nullptr;
  for (Instruction& each : instructions(function))
    if (is_read_of_address(each)) {
      auto* variable = dyn_cast<GlobalVariable>(each.getOperand(0));
      return variable != nullptr && variable->isDSOLocal() && !variable->isDeclarationForLinker() ? variable
                                                                                                  : nullptr;
    }
  return nullptr;
}

class lower_fiber_tls : public PassInfoMixin<lower_fiber_tls> {
public:
  static bool isRequired() { return true; }

  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    const bool is_lto = is_for_link(module);
    bool changed = false;
    for (Function& each : make_early_inc_range(module)) {
      if (!each.hasFnAttribute(attribute))
        continue;
      if (is_lto && each.getFnAttribute(attribute).getValueAsString() != compiled)
        each.addFnAttr(attribute, compiled);
      else if (GlobalVariable* variable = at_constant_offset(each))
        replace_calls(each, *variable);
      changed = true;
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

private:
  static void replace_calls(Function& function, GlobalVariable& variable) {
    for (User* user : make_early_inc_range(function.users()))
      if (auto* call = dyn_cast<CallInst>(user)) {
        IRBuilder<> builder(call);
        call->replaceAllUsesWith(
            call_assembly(builder, "movq %fs:0, $0\n\tleaq ${1:c}@tpoff($0), $0", "=r,i", &variable, true));
        call->eraseFromParent();
        ++reads_lowered;
      }
    if (function.hasLocalLinkage() && function.use_empty())
      function.eraseFromParent();
  }
};

}  // namespace

bool is_of_thread(StringRef function) {
  return StringSwitch<bool>(function)
      .Cases("__errno_location", "__h_errno_location", "pthread_self", "thrd_current", true)
      .Cases("__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc", true)
      .Cases("__cxa_get_globals", "__cxa_get_globals_fast", "__tls_get_addr", true)
      .Default(false);
}

StringRef variable_read_by(const Function& function) {
  return function.hasFnAttribute(attribute) ? function.getName().drop_front(prefix.size()) : "";
}

void add_fiber_tls(PassBuilder& builder) {
  builder.registerPipelineStartEPCallback([](ModulePassManager& passes, OptimizationLevel) {
    if (asked_for)
      passes.addPass(fiber_tls());
  });
  builder.registerPeepholeEPCallback(
      [](FunctionPassManager& passes, OptimizationLevel) { passes.addPass(hoist_fiber_tls()); });
  const auto add_lowering = [](ModulePassManager& passes, OptimizationLevel) {
    passes.addPass(lower_fiber_tls());
  };
  builder.registerOptimizerLastEPCallback(add_lowering);
  builder.registerFullLinkTimeOptimizationLastEPCallback(add_lowering);
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager& passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name == "sennit-fiber-tls")
          passes.addPass(fiber_tls());
        else if (name == "sennit-fiber-tls-hoist")
          passes.addPass(createModuleToFunctionPassAdaptor(hoist_fiber_tls()));
        else if (name == "sennit-fiber-tls-lower")
          passes.addPass(lower_fiber_tls());
        else
          return false;
        return true;
      });
}

}  // namespace sennit::compiler
