#include "polls.hpp"

#include <llvm/CodeGen/LazyMachineBlockFrequencyInfo.h>
#include <llvm/CodeGen/MachineDominators.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <memory>
#include <mutex>

#include "callees_first.hpp"
#include "for_link.hpp"
#include "machine_pass.hpp"
#include "no_yield.hpp"
#include "poll_code.hpp"
#include "poll_page.hpp"
#include "poll_placement.hpp"
#include "polls_at_link.hpp"
#include "polls_graph.hpp"
#include "polls_options.hpp"
#include "polls_report.hpp"
#include "strip_mine.hpp"
#include "trip_counts.hpp"
#include "unroll.hpp"
#include "verify_polls.hpp"

namespace sennit::compiler {

namespace {

using llvm::MachineFunction;

// ---- Which functions.

bool is_left_alone(const llvm::Function& function) {
  return is_no_yield(function) || function.hasFnAttribute(llvm::Attribute::Naked) ||
         function.getCallingConv() == llvm::CallingConv::X86_INTR;
}

void refuse(llvm::LLVMContext& context) {
  static std::once_flag said;
  std::call_once(said, [&] {
    context.emitError(polls_by_page()
                          ? "-sennit-polls-check=page is for x86-64 on Linux only, without -mcmodel=large"
                          : "-sennit-polls is for x86-64, without -mcmodel=large, and AArch64 on Linux only");
  });
}

// Code generation for some targets, WebAssembly among them, runs no passes of ours.
bool refuse_target(const llvm::Module& module) {
  if (poll_code::is_for(llvm::Triple(module.getTargetTriple()), module.getDataLayout()))
    return false;
  refuse(module.getContext());
  return true;
}

class place_polls_pass final : public machine_pass {
public:
  static char ID;
  static constexpr char argument[] = "sennit-place-polls";
  place_polls_pass() : machine_pass(ID, "Sennit: checks") {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    machine_pass::getAnalysisUsage(usage);
    usage.addRequired<llvm::MachineDominatorTreeWrapperPass>();
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    usage.addRequired<llvm::LazyMachineBlockFrequencyInfoPass>();
    usage.addRequired<llvm::MachineOptimizationRemarkEmitterPass>();
  }

  bool doInitialization(llvm::Module& module) override { return no_longer_refer_to_missing(module); }
  bool runOnMachineFunction(MachineFunction& function) override;
};
char place_polls_pass::ID = 0;

bool place_polls_pass::runOnMachineFunction(MachineFunction& function) {
  if (!polls_are_wanted && !gets_checks_at_link(function.getFunction()))
    return false;
  if (is_left_alone(function.getFunction()) || !function.getRegInfo().tracksLiveness())
    return false;
  const std::unique_ptr<poll_code> code = poll_code::of_target(function);
  if (!code) {
    refuse(function.getFunction().getContext());
    return false;
  }
  bool changed = place_polls(function, *code,
                             {getAnalysis<llvm::MachineDominatorTreeWrapperPass>().getDomTree(),
                              getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI(),
                              getAnalysis<llvm::LazyMachineBlockFrequencyInfoPass>().getBFI(),
                              getAnalysis<llvm::MachineOptimizationRemarkEmitterPass>().getORE()});
  if (polls_are_verified)
    verify_polls(function);
  if (!polls_report_file.empty())
    report_polls(function, polls_report_file);
  if (!polls_graph_file.empty())
    add_to_graph(function, polls_graph_file);
  changed |= remove_marks(function);
  return changed;
}

// After the last of LLVM's passes that change loops; or, of a unit for the link, before that has any.
struct prepare_loops : llvm::PassInfoMixin<prepare_loops> {
  explicit prepare_loops(llvm::OptimizationLevel level) : optimized(level != llvm::OptimizationLevel::O0) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    if (gets_checks_at_link(module)) {
      take_over_at_link(module);
    } else if (!polls_are_wanted || refuse_target(module)) {
      return llvm::PreservedAnalyses::all();
    } else {
      leave_for_later(module);
      if (is_for_link(module))
        return llvm::PreservedAnalyses::none();
    }
    if (polls_by_page())
      add_poll_page(module);
    if (most_cycles_without_check() || polls_scope == scope::needed)
      put_callees_first(module);
    if (!optimized || most_without_check() == 0)
      return llvm::PreservedAnalyses::none();
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::LoopSimplifyPass());  // as code generation does
    passes.addPass(llvm::LCSSAPass());
    passes.addPass(strip_mine());
    passes.addPass(unroll_unmarked());
    passes.addPass(mark_trip_counts());
    auto& functions = analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
    for (llvm::Function& each : module)
      if (!each.isDeclaration() && gets_checks_at_link(each) && !has_prepared_loops(each)) {
        functions.invalidate(each, passes.run(each, functions));
        set_prepared_loops(each);
      }
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

  bool optimized;
};

}  // namespace

void add_polls(llvm::PassBuilder& passes) {
  add_machine_pass<place_polls_pass>();
  passes.registerPipelineStartEPCallback([](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
    if (polls_are_wanted)
      manager.addPass(mark_no_yield());
    else
      manager.addPass(warn_of_options());
  });
  const auto begin = [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
    manager.addPass(begin_link());
  };
  passes.registerPipelineEarlySimplificationEPCallback(begin);
  passes.registerFullLinkTimeOptimizationEarlyEPCallback(begin);
  const auto prepare = [](llvm::ModulePassManager& manager, llvm::OptimizationLevel level) {
    manager.addPass(prepare_loops(level));
  };
  passes.registerOptimizerLastEPCallback(prepare);
  passes.registerFullLinkTimeOptimizationLastEPCallback(prepare);
}

}  // namespace sennit::compiler
