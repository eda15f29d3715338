#include "unroll.hpp"

#include <llvm/ADT/Statistic.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/UnrollLoop.h>

#include "trip_counts.hpp"

#define DEBUG_TYPE "sennit-unroll"

namespace sennit::compiler {

namespace {

ALWAYS_ENABLED_STATISTIC(loops_unrolled, "Number of loops that are unrolled for a common check");

constexpr unsigned copies = 4;
constexpr std::uint64_t longest_round = 16;  // instructions

bool is_asked_not_to(const llvm::Loop& loop) {
  return llvm::findStringMetadataForLoop(&loop, "llvm.loop.unroll.disable").has_value();
}

// The counter's steps are constants: then the copies differ by constants, which addresses may contain.
// Otherwise each copy would need a register of its own for the counter's value so many steps ahead.
bool counts_by_constants(const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  return llvm::all_of(loop.getHeader()->phis(), [&](llvm::PHINode& each) {
    if (!evolution.isSCEVable(each.getType()))
      return true;
    const auto* counts = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(&each));
    return counts == nullptr || llvm::isa<llvm::SCEVConstant>(counts->getStepRecurrence(evolution));
  });
}

}  // namespace

llvm::PreservedAnalyses unroll_unmarked::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager& analyses) {
  if (function.hasOptSize())
    return llvm::PreservedAnalyses::all();
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  auto& assumptions = analyses.getResult<llvm::AssumptionAnalysis>(function);
  auto& remarks = analyses.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function);
  const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
  bool changed = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || !loop->isLoopSimplifyForm() || !loop->isSafeToClone() ||
        is_asked_not_to(*loop) || is_marked(*loop) || calls_something(*loop) ||
        !counts_by_constants(*loop, evolution))
      continue;
    const std::uint64_t size = size_of(*loop, target), rounds = evolution.getSmallConstantMaxTripCount(loop);
    if (size > longest_round || (rounds != 0 && rounds * size <= most_without_check()))
      continue;
    changed |= llvm::formLCSSA(*loop, dominators, &loops, &evolution);
    llvm::UnrollLoopOptions how{};
    how.Count = copies;
    how.Force = true;
    // It emits a remark itself.
    if (llvm::UnrollLoop(loop, how, &loops, &evolution, &dominators, &assumptions, &target, &remarks, true) ==
        llvm::LoopUnrollResult::Unmodified)
      continue;
    ++loops_unrolled;
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace sennit::compiler
