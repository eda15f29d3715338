#include "strip_mine.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <vector>

#include "trip_counts.hpp"

namespace sennit::compiler {

namespace {

constexpr std::uint64_t fewest_rounds = 8;  // of a strip: fewer do not pay for it

// What decides in a loop's latch whether another round follows.
struct counter {
  llvm::Loop* loop;
  llvm::ICmpInst* test;
  unsigned operand;      // of the test: what counts; the other one is the bound
  llvm::APInt step;      // in bytes, if it is a pointer
  std::uint64_t rounds;  // of a strip
};

// A value that goes round, or one instruction away from it.
bool is_of_header(const llvm::Value* value, const llvm::Loop& loop) {
  const auto goes_round = [&](const llvm::Value* each) {
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(each);
    return phi != nullptr && phi->getParent() == loop.getHeader();
  };
  if (goes_round(value))
    return true;
  const auto* made = llvm::dyn_cast<llvm::Instruction>(value);
  return made != nullptr &&
         (llvm::isa<llvm::BinaryOperator>(made) || llvm::isa<llvm::GetElementPtrInst>(made)) &&
         llvm::all_of(made->operands(),
                      [&](const llvm::Use& each) { return goes_round(each) || loop.isLoopInvariant(each); });
}

std::optional<counter> counter_of(llvm::Loop& loop, llvm::ScalarEvolution& evolution,
                                  const llvm::TargetTransformInfo& target) {
  if (!loop.isInnermost() || !loop.isLoopSimplifyForm() || !loop.isLoopExiting(loop.getLoopLatch()) ||
      calls_something(loop))
    return std::nullopt;
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(loop.getLoopLatch()->getTerminator());
  auto* const test = branch != nullptr && branch->isConditional()
                         ? llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition())
                         : nullptr;
  if (test == nullptr || !test->hasOneUse() || !test->isEquality() ||
      llvm::isa<llvm::SCEVCouldNotCompute>(evolution.getExitCount(&loop, loop.getLoopLatch())))
    return std::nullopt;
  const bool goes_on_if_equal = loop.contains(branch->getSuccessor(0));
  if (goes_on_if_equal != (test->getPredicate() == llvm::CmpInst::ICMP_NE))
    return std::nullopt;
  for (const unsigned operand : {0U, 1U}) {
    const auto* counts = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(test->getOperand(operand)));
    if (counts == nullptr || counts->getLoop() != &loop || !counts->isAffine() ||
        !loop.isLoopInvariant(test->getOperand(1 - operand)) ||
        !is_of_header(test->getOperand(operand), loop))
      continue;
    const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(counts->getStepRecurrence(evolution));
    if (step == nullptr || step->getValue()->isZero() || step->getAPInt().isMinSignedValue())
      continue;
    const std::uint64_t size = size_of(loop, target);
    std::uint64_t rounds = most_without_check() / 2 / size;
    const std::uint64_t known = evolution.getSmallConstantMaxTripCount(&loop);
    if (rounds < fewest_rounds || (known != 0 && known <= 2 * rounds && known * size <= most_without_check()))
      return std::nullopt;
    rounds = llvm::bit_floor(rounds);
    // All rounds of a strip but the first, in what is counted.
    const llvm::APInt magnitude = step->getAPInt().abs();
    bool too_much = llvm::APInt::getMaxValue(magnitude.getBitWidth()).ult(rounds);
    if (!too_much)
      (void)magnitude.umul_ov(llvm::APInt(magnitude.getBitWidth(), rounds), too_much);
    if (too_much)
      continue;
    return counter{&loop, test, operand, step->getAPInt(), rounds};
  }
  return std::nullopt;
}

void make_strips(const counter& of) {
  llvm::Loop& loop = *of.loop;
  llvm::BasicBlock* const before = loop.getLoopPreheader();
  llvm::BasicBlock* const header = loop.getHeader();
  llvm::BasicBlock* const latch = loop.getLoopLatch();
  llvm::Instruction* const branch = latch->getTerminator();
  llvm::BasicBlock* const exit = branch->getSuccessor(loop.contains(branch->getSuccessor(0)) ? 1 : 0);
  llvm::Value* const bound = of.test->getOperand(1 - of.operand);
  auto* const strip = llvm::BasicBlock::Create(header->getContext(), "strip", header->getParent(), header);
  auto* const next = llvm::BasicBlock::Create(header->getContext(), "strip.next", header->getParent(), exit);

  // What goes round in the loop goes round in the new one.
  llvm::SmallDenseMap<llvm::Value*, llvm::Value*> at_begin;  // of a strip
  for (llvm::PHINode& each : header->phis()) {
    auto* const outer = llvm::PHINode::Create(each.getType(), 2, each.getName() + ".strip", strip);
    outer->addIncoming(each.getIncomingValueForBlock(before), before);
    outer->addIncoming(each.getIncomingValueForBlock(latch), next);
    const int from = each.getBasicBlockIndex(before);
    each.setIncomingBlock(static_cast<unsigned>(from), strip);
    each.setIncomingValue(static_cast<unsigned>(from), outer);
    at_begin[&each] = outer;
  }
  before->getTerminator()->replaceSuccessorWith(header, strip);
  branch->replaceSuccessorWith(exit, next);
  exit->replacePhiUsesWith(latch, next);

  llvm::Type* const type = bound->getType();
  const unsigned bits = of.step.getBitWidth();
  llvm::IRBuilder<> builder(strip);
  builder.SetCurrentDebugLocation(branch->getDebugLoc());
  const auto number = [&](llvm::Value* value) {
    return type->isPointerTy() ? builder.CreatePtrToInt(value, builder.getIntNTy(bits)) : value;
  };
  const bool down = of.step.isNegative();
  // As it is in a strip's first round.
  llvm::Value* const counted = of.test->getOperand(of.operand);
  llvm::Value* at = at_begin.lookup(counted);
  if (at == nullptr) {
    llvm::Instruction* const first = llvm::cast<llvm::Instruction>(counted)->clone();
    for (llvm::Use& each : first->operands())
      if (llvm::Value* const outer = at_begin.lookup(each))
        each.set(outer);
    at = builder.Insert(first, "strip.at");
  }
  llvm::Value* const left =
      down ? builder.CreateSub(number(at), number(bound)) : builder.CreateSub(number(bound), number(at));
  const llvm::APInt step = of.step.abs();
  const llvm::APInt others(bits, of.rounds - 1);  // rounds of a strip
  llvm::Value* part;
  if (loop.getExitingBlock() == nullptr && step.isPowerOf2()) {
    // With more ways out it is not known that the bound is met; that some rounds' steps are gone, is.
    llvm::Value* const rounds = builder.CreateLShr(left, step.logBase2());
    part = builder.CreateShl(
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rounds, builder.getInt(others)),
        step.logBase2());
  } else {
    part = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, builder.getInt(others * step));
  }
  llvm::Value* const by = down ? builder.CreateNeg(part) : part;
  llvm::Value* const end =
      type->isPointerTy() ? builder.CreateGEP(builder.getInt8Ty(), at, by) : builder.CreateAdd(at, by);
  builder.CreateBr(header);

  builder.SetInsertPoint(next);
  builder.CreateCondBr(builder.CreateICmpEQ(counted, bound), exit, strip);
  of.test->setOperand(1 - of.operand, end);
}

}  // namespace

llvm::PreservedAnalyses strip_mine::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (function.hasOptSize())
    return llvm::PreservedAnalyses::all();
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
  std::vector<counter> all;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder())
    if (const auto counts = counter_of(*loop, evolution, target))
      all.push_back(*counts);
  for (const counter& each : all)
    make_strips(each);
  return all.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace sennit::compiler
