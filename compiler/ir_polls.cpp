#include "ir_polls.hpp"

#include <llvm/ADT/Statistic.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

#include "no_yield.hpp"
#include "polls_options.hpp"

#define DEBUG_TYPE "sennit-polls-ir"

namespace sennit::compiler {

namespace {

ALWAYS_ENABLED_STATISTIC(checks_inserted, "Number of checks inserted before optimization");

enum class form : std::uint8_t { none, check, call };
llvm::cl::opt<form> wanted("sennit-polls-ir", llvm::cl::init(form::none),
                           llvm::cl::desc("Yield checks before optimization, to compare with"),
                           llvm::cl::values(clEnumValN(form::check, "check", "the flag is tested in place"),
                                            clEnumValN(form::call, "call", "sennit_poll is called")));

bool calls(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& each) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&each);
    return call != nullptr && !call->isInlineAsm() && !llvm::isa<llvm::IntrinsicInst>(call);
  });
}

llvm::GlobalVariable* flag_of(llvm::Module& module) {
  constexpr const char* name = "sennit_yield_requested";
  auto* const type = llvm::Type::getInt8Ty(module.getContext());
  auto* const flag = llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal(name, type));
  flag->setThreadLocalMode(llvm::GlobalValue::InitialExecTLSModel);
  return flag;
}

// Inserts the check before `at`. The unlikely call is in a block of its own.
void put_before(llvm::Instruction& at) {
  llvm::Module& module = *at.getModule();
  llvm::IRBuilder<> builder(&at);
  auto* const nothing = llvm::FunctionType::get(builder.getVoidTy(), false);
  if (wanted == form::call) {
    builder.CreateCall(module.getOrInsertFunction("sennit_poll", nothing));
    return;
  }
  llvm::Value* const address = builder.CreateThreadLocalAddress(flag_of(module));
  llvm::Value* const value = builder.CreateLoad(builder.getInt8Ty(), address, true);
  llvm::Instruction* const cold =
      llvm::SplitBlockAndInsertIfThen(builder.CreateIsNotNull(value), &at, false,
                                      llvm::MDBuilder(module.getContext()).createBranchWeights(1, 1023));
  builder.SetInsertPoint(cold);
  builder.CreateCall(module.getOrInsertFunction("sennit_forced_yield", nothing));
}

struct ir_polls : llvm::PassInfoMixin<ir_polls> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    if (polls_are_wanted) {
      module.getContext().emitError("-sennit-polls and -sennit-polls-ir: choose one of them");
      return llvm::PreservedAnalyses::all();
    }
    auto& functions = analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
    for (llvm::Function& function : module) {
      if (function.isDeclaration() || is_no_yield(function) ||
          function.hasFnAttribute(llvm::Attribute::Naked))
        continue;
      const auto& loops = functions.getResult<llvm::LoopAnalysis>(function);
      std::vector<llvm::Instruction*> places;
      if (calls(function))
        places.push_back(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      for (const llvm::Loop* each : loops.getLoopsInPreorder())
        places.push_back(&*each->getHeader()->getFirstInsertionPt());
      checks_inserted += places.size();
      for (llvm::Instruction* each : places)
        put_before(*each);
    }
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

}  // namespace

void add_ir_polls(llvm::PassBuilder& passes) {
  if (wanted == form::none)
    return;
  passes.registerPipelineStartEPCallback([](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
    manager.addPass(mark_no_yield());
    manager.addPass(ir_polls());
  });
}

}  // namespace sennit::compiler
