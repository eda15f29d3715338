#include "strip_mine.hpp"

#include <llvm/ADT/Statistic.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "trip_counts.hpp"

#define DEBUG_TYPE "sennit-strip-mine"

namespace sennit::compiler {

namespace {

ALWAYS_ENABLED_STATISTIC(loops_split, "Number of loops that are split into strips");

constexpr std::uint64_t fewest_rounds = 8;  // of a strip: fewer do not pay for it

// What decides in a loop's latch whether another round follows.
struct counter {
  llvm::Loop* loop;
  llvm::ICmpInst* test;
  unsigned operand;                 // the test's operand that is the counter; the other one is the bound
  llvm::APInt step;                 // in bytes, if it is a pointer; that of an equality test
  std::uint64_t rounds;             // of a strip
  bool is_only = false;             // no other test decides there
  llvm::PHINode* counts = nullptr;  // of a test for less: the counter's phi
  const llvm::SCEV* by = nullptr;   // and its step
  bool is_signed = false;           // the test
  bool is_guarded = false;          // the loop is entered only if the test holds for the initial value
  bool is_low = false;  // the counter is in the lower half of all numbers; so is the bound of a signed test
  llvm::Value* steps = nullptr;  // of a strip: by `by`
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

// What a loop executes, in machine instructions.
class sizes {
public:
  sizes(llvm::ScalarEvolution& evolution, const llvm::TargetTransformInfo& target,
        const llvm::LoopInfo& loops, const llvm::BlockFrequencyInfo& frequencies)
      : evolution_(evolution), target_(target), loops_(loops), frequencies_(frequencies) {}

  // The size of a round, at most; none: it calls something, or has an inner loop without a known count.
  std::optional<std::uint64_t> most(const llvm::Loop& loop) const {
    return sum(loop, [](const llvm::BasicBlock&) { return true; });
  }

  // Like most(), without blocks that less than half of the rounds go through, where a check can be.
  std::optional<std::uint64_t> usual(const llvm::Loop& loop) const {
    const std::uint64_t half = frequencies_.getBlockFreq(loop.getHeader()).getFrequency() / 2;
    return sum(loop, [&](const llvm::BasicBlock& block) {
      return frequencies_.getBlockFreq(&block).getFrequency() >= half;
    });
  }

private:
  std::optional<std::uint64_t> sum(const llvm::Loop& loop,
                                   llvm::function_ref<bool(const llvm::BasicBlock&)> counts) const {
    std::uint64_t size = 0;
    for (const llvm::BasicBlock* each : loop.blocks()) {
      if (loops_.getLoopFor(each) != &loop)
        continue;
      if (calls_something(*each))
        return std::nullopt;
      if (!counts(*each))
        continue;
      size += size_of(*each, target_);
    }
    for (llvm::Loop* each : loop.getSubLoops()) {
      if (each->getLoopPreheader() == nullptr)
        return std::nullopt;
      if (!counts(*each->getLoopPreheader()))
        continue;
      const std::uint64_t rounds = evolution_.getSmallConstantMaxTripCount(each);
      const std::optional<std::uint64_t> round = most(*each);
      if (rounds == 0 || !round)
        return std::nullopt;
      size = llvm::SaturatingMultiplyAdd(rounds, *round, size);
    }
    return std::max<std::uint64_t>(size, 1);
  }

  llvm::ScalarEvolution& evolution_;
  const llvm::TargetTransformInfo& target_;
  const llvm::LoopInfo& loops_;
  const llvm::BlockFrequencyInfo& frequencies_;
};

// Of a strip; 0: not worth one.
std::uint64_t rounds_of_strip(llvm::Loop& loop, llvm::ScalarEvolution& evolution, const sizes& of) {
  const std::optional<std::uint64_t> most = of.most(loop), usual = of.usual(loop);
  if (!usual)
    return 0;
  const bool all = most && most_without_check() / 2 / *most >= fewest_rounds;
  const std::uint64_t round = all ? *most : *usual, rounds = most_without_check() / 2 / round;
  // Sizes are overestimated if inner loops are made into fewer instructions: loops of few rounds are left as
  // they are.
  const std::uint64_t known = evolution.getSmallConstantMaxTripCount(&loop);
  const std::uint64_t enough = most_without_check() * (loop.isInnermost() ? 1 : 2);
  if (rounds < fewest_rounds || (known != 0 && llvm::SaturatingMultiply(known, round) <= enough))
    return 0;
  return llvm::bit_floor(rounds);
}

// As `a < b`, with or without sign, and which operand counts up: a variable step, too.
std::optional<counter> counts_up(llvm::Loop& loop, llvm::ICmpInst& test, bool goes_on_if_true,
                                 llvm::ScalarEvolution& evolution) {
  llvm::CmpInst::Predicate less = goes_on_if_true ? test.getPredicate() : test.getInversePredicate();
  const unsigned operand = llvm::ICmpInst::isGT(less) || llvm::ICmpInst::isGE(less) ? 1 : 0;
  if (operand == 1)
    less = llvm::CmpInst::getSwappedPredicate(less);
  if (!llvm::ICmpInst::isLT(less) && !llvm::ICmpInst::isLE(less))
    return std::nullopt;
  llvm::Value* const counted = test.getOperand(operand);
  llvm::Value* const bound = test.getOperand(1 - operand);
  if (!loop.isLoopInvariant(bound))
    return std::nullopt;
  for (llvm::PHINode& each : loop.getHeader()->phis()) {
    if (each.getIncomingValueForBlock(loop.getLoopLatch()) != counted ||
        !evolution.isSCEVable(each.getType()))
      continue;
    const auto* counts = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(&each));
    if (counts == nullptr || counts->getLoop() != &loop || !counts->isAffine())
      continue;
    const llvm::SCEV* const by = counts->getStepRecurrence(evolution);
    const auto bits = evolution.getTypeSizeInBits(by->getType());
    const bool is_signed = llvm::CmpInst::isSigned(less);
    const auto is_at_least = [&](unsigned least) {
      const auto order = is_signed ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE;
      const llvm::SCEV* const that = evolution.getConstant(by->getType(), least);
      return evolution.isKnownPredicate(order, by, that) ||
             evolution.isLoopEntryGuardedByCond(&loop, order, by, that);
    };
    // It reaches the bound before it wraps. What stands still would have no end where it may be equal.
    if (bits < 32 || bits > 64 || !(is_signed ? counts->hasNoSignedWrap() : counts->hasNoUnsignedWrap()) ||
        (llvm::ICmpInst::isLE(less) && !is_at_least(1)) || (is_signed && !is_at_least(0)) ||
        llvm::SCEVExprContains(by,
                               [](const llvm::SCEV* part) { return llvm::isa<llvm::SCEVUDivExpr>(part); }))
      continue;
    counter found{&loop, &test, operand, llvm::APInt(static_cast<unsigned>(bits), 0), 0};
    found.counts = &each;
    found.by = by;
    found.is_signed = is_signed;
    found.is_guarded =
        evolution.isLoopEntryGuardedByCond(&loop, less, counts->getStart(), evolution.getSCEV(bound));
    found.is_low = evolution.isKnownNonNegative(counts) &&
                   (!is_signed || found.is_guarded || evolution.isKnownNonNegative(evolution.getSCEV(bound)));
    return found;
  }
  return std::nullopt;
}

// One of the conditions that must all hold for another round, by its test.
std::optional<counter> counter_by(llvm::Loop& loop, llvm::ICmpInst& test, bool goes_on_if_true, bool is_only,
                                  std::uint64_t rounds, llvm::ScalarEvolution& evolution) {
  if (!test.isEquality()) {
    auto found = counts_up(loop, test, goes_on_if_true, evolution);
    if (found)
      found->rounds = rounds;
    return found;
  }
  if ((is_only && llvm::isa<llvm::SCEVCouldNotCompute>(evolution.getExitCount(&loop, loop.getLoopLatch()))) ||
      goes_on_if_true != (test.getPredicate() == llvm::CmpInst::ICMP_NE))
    return std::nullopt;
  for (const unsigned operand : {0U, 1U}) {
    const auto* counts = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(test.getOperand(operand)));
    if (counts == nullptr || counts->getLoop() != &loop || !counts->isAffine() ||
        !loop.isLoopInvariant(test.getOperand(1 - operand)) || !is_of_header(test.getOperand(operand), loop))
      continue;
    const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(counts->getStepRecurrence(evolution));
    if (step == nullptr || step->getValue()->isZero() || step->getAPInt().isMinSignedValue() ||
        (!is_only && !step->getAPInt().abs().isPowerOf2()))
      continue;
    // All rounds of a strip except the first, in units of the counter.
    const llvm::APInt magnitude = step->getAPInt().abs();
    bool too_much = llvm::APInt::getMaxValue(magnitude.getBitWidth()).ult(rounds);
    if (!too_much)
      (void)magnitude.umul_ov(llvm::APInt(magnitude.getBitWidth(), rounds), too_much);
    if (too_much)
      continue;
    return counter{&loop, &test, operand, step->getAPInt(), rounds, is_only};
  }
  return std::nullopt;
}

std::optional<counter> counter_of(llvm::Loop& loop, llvm::ScalarEvolution& evolution, const sizes& of) {
  if (!loop.isLoopSimplifyForm() || !loop.isLoopExiting(loop.getLoopLatch()))
    return std::nullopt;
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(loop.getLoopLatch()->getTerminator());
  if (branch == nullptr || !branch->isConditional())
    return std::nullopt;
  const std::uint64_t rounds = rounds_of_strip(loop, evolution, of);
  if (rounds == 0)
    return std::nullopt;
  const bool goes_on_if_true = loop.contains(branch->getSuccessor(0));
  llvm::Value *one = branch->getCondition(), *other = nullptr;
  using llvm::PatternMatch::m_LogicalAnd, llvm::PatternMatch::m_LogicalOr, llvm::PatternMatch::m_Value;
  if (goes_on_if_true ? match(one, m_LogicalAnd(m_Value(one), m_Value(other)))
                      : match(one, m_LogicalOr(m_Value(one), m_Value(other))))
    if (!branch->getCondition()->hasOneUse())
      return std::nullopt;
  for (llvm::Value* each : {one, other})
    if (auto* const test = llvm::dyn_cast_or_null<llvm::ICmpInst>(each);
        test != nullptr && test->hasOneUse() && loop.contains(test))
      if (auto found = counter_by(loop, *test, goes_on_if_true, other == nullptr, rounds, evolution))
        return found;
  return std::nullopt;
}

// So much is counted in a strip at most, of a test for less. Before any loop is changed.
llvm::Value* steps_of(const counter& of, llvm::ScalarEvolution& evolution) {
  const unsigned bits = of.step.getBitWidth();
  llvm::Instruction* const before = of.loop->getLoopPreheader()->getTerminator();
  llvm::IRBuilder<> builder(before);
  llvm::SCEVExpander expander(evolution, before->getModule()->getDataLayout(), "strip");
  llvm::Value* step = expander.expandCodeFor(of.by, builder.getIntNTy(bits), before);
  // With a step that is taken for less a strip has fewer rounds.
  const llvm::APInt largest = llvm::APInt::getMaxValue(bits).lshr(1).udiv(of.rounds);
  if (evolution.getUnsignedRangeMax(of.by).ugt(largest))
    step = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, step, builder.getInt(largest));
  return builder.CreateShl(step, llvm::Log2_64(of.rounds), "strip.steps");
}

// A strip's end where the test is for less: at most that many rounds away, whatever the step is.
llvm::Value* end_by_steps(const counter& of, llvm::Value* at, llvm::Value* bound,
                          llvm::IRBuilder<>& builder) {
  llvm::Type* const number = builder.getIntNTy(of.step.getBitWidth());
  const bool is_pointer = at->getType()->isPointerTy();
  const auto add = [&](llvm::Value* by) {
    return is_pointer ? builder.CreateGEP(builder.getInt8Ty(), at, by) : builder.CreateAdd(at, by);
  };
  const auto as_number = [&](llvm::Value* value) {
    return is_pointer ? builder.CreatePtrToInt(value, number) : value;
  };
  if (of.is_low)  // half of all numbers, and less than another half
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, bound, add(of.steps));
  llvm::Value* last = as_number(bound);
  if (!of.is_guarded)
    last = builder.CreateBinaryIntrinsic(of.is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, last,
                                         as_number(at));
  return add(
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, builder.CreateSub(last, as_number(at)), of.steps));
}

// A strip's end where the test is for equality. `at`: what counts, as it is in the strip's first round.
// Also how much is counted until then.
std::pair<llvm::Value*, llvm::Value*> end_by_rounds(const counter& of, llvm::Value* at, llvm::Value* bound,
                                                    llvm::IRBuilder<>& builder) {
  llvm::Type* const type = bound->getType();
  const unsigned bits = of.step.getBitWidth();
  const auto number = [&](llvm::Value* value) {
    return type->isPointerTy() ? builder.CreatePtrToInt(value, builder.getIntNTy(bits)) : value;
  };
  const bool down = of.step.isNegative();
  llvm::Value* const left =
      down ? builder.CreateSub(number(at), number(bound)) : builder.CreateSub(number(bound), number(at));
  const llvm::APInt step = of.step.abs();
  const llvm::APInt others(bits, of.rounds - 1);  // rounds of a strip
  llvm::Value* part;
  if ((of.loop->getExitingBlock() == nullptr || !of.is_only) && step.isPowerOf2()) {
    // With more ways out it is not known that the bound is met; that some rounds' steps are gone, is.
    llvm::Value* const rounds = builder.CreateLShr(left, step.logBase2());
    part = builder.CreateShl(
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rounds, builder.getInt(others)),
        step.logBase2());
  } else {
    part = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, builder.getInt(others * step));
  }
  llvm::Value* const by = down ? builder.CreateNeg(part) : part;
  return {type->isPointerTy() ? builder.CreateGEP(builder.getInt8Ty(), at, by) : builder.CreateAdd(at, by),
          part};
}

// What goes round, if that is made of nothing else.
llvm::PHINode* counts_of(llvm::Value* counted, const llvm::BasicBlock& header) {
  for (llvm::Value* each : llvm::cast<llvm::Instruction>(counted)->operands())
    if (auto* const phi = llvm::dyn_cast<llvm::PHINode>(each); phi != nullptr && phi->getParent() == &header)
      return phi;
  return nullptr;
}

// A strip may count its rounds down if its counter has no other use: a compare with zero is free. Code
// generation does so by itself if no other test decides in the latch.
bool may_count_down(const counter& of, const llvm::PHINode* counts, const llvm::PHINode* in_strips) {
  llvm::Value* const counted = of.test->getOperand(of.operand);
  return counts != nullptr && in_strips != nullptr && !of.is_only && of.step.abs().isOne() &&
         llvm::is_contained(counts->incoming_values(), counted) && counts->hasOneUse() &&
         llvm::all_of(counted->users(), [&](const llvm::User* each) {
           return each == of.test || each == counts || each == in_strips;
         });
}

void count_down(const counter& of, llvm::PHINode& counts, llvm::BasicBlock& strip, llvm::Value* others) {
  llvm::Value* const counted = of.test->getOperand(of.operand);
  llvm::BasicBlock* const latch = of.loop->getLoopLatch();
  llvm::IRBuilder<> builder(strip.getTerminator());
  llvm::Type* const type = others->getType();
  auto* const left = llvm::PHINode::Create(type, 2, "strip.left", counts.getIterator());
  left->addIncoming(builder.CreateAdd(others, llvm::ConstantInt::get(type, 1)), &strip);
  builder.SetInsertPoint(of.test);
  llvm::Value* const fewer = builder.CreateSub(left, llvm::ConstantInt::get(type, 1));
  left->addIncoming(fewer, latch);
  of.test->setOperand(of.operand, fewer);
  of.test->setOperand(1 - of.operand, llvm::ConstantInt::get(type, 0));
  counts.replaceAllUsesWith(llvm::PoisonValue::get(counts.getType()));
  counts.eraseFromParent();
  llvm::cast<llvm::Instruction>(counted)->eraseFromParent();
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

  llvm::IRBuilder<> builder(strip);
  builder.SetCurrentDebugLocation(branch->getDebugLoc());
  llvm::Value* const counted = of.test->getOperand(of.operand);
  llvm::Value *end, *others = nullptr;
  if (of.by != nullptr) {
    end = end_by_steps(of, at_begin.lookup(of.counts), bound, builder);
  } else {
    llvm::Value* at = at_begin.lookup(counted);
    if (at == nullptr) {
      llvm::Instruction* const first = llvm::cast<llvm::Instruction>(counted)->clone();
      for (llvm::Use& each : first->operands())
        if (llvm::Value* const outer = at_begin.lookup(each))
          each.set(outer);
      at = builder.Insert(first, "strip.at");
    }
    std::tie(end, others) = end_by_rounds(of, at, bound, builder);
  }
  builder.CreateBr(header);

  builder.SetInsertPoint(next);
  // Over, if the loop was without strips.
  llvm::PHINode* const counts = of.by == nullptr ? counts_of(counted, *header) : nullptr;
  auto* const in_strips = llvm::dyn_cast_or_null<llvm::PHINode>(at_begin.lookup(counts));
  const bool down = may_count_down(of, counts, in_strips);
  auto* const again = builder.Insert(of.test->clone());
  if (down) {
    // Where the strip's end is met, it is the counter's value; else the other condition ends the loop anyway.
    again->setOperand(of.operand, end);
    in_strips->setIncomingValueForBlock(next, end);
  }
  llvm::Value* whole = again;
  if (auto* const condition = llvm::cast<llvm::BranchInst>(branch)->getCondition(); condition != of.test) {
    auto* const both = llvm::cast<llvm::Instruction>(condition)->clone();
    both->replaceUsesOfWith(of.test, again);
    whole = builder.Insert(both);
  }
  const bool over_if_true = branch->getSuccessor(0) == next;
  builder.CreateCondBr(whole, over_if_true ? exit : strip, over_if_true ? strip : exit);
  of.test->setOperand(1 - of.operand, end);
  if (of.by != nullptr)
    mark_rounds(*strip, *header, of.rounds + 1);
  else if (down)
    count_down(of, *counts, *strip, others);
}

}  // namespace

llvm::PreservedAnalyses strip_mine::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (function.hasOptSize())
    return llvm::PreservedAnalyses::all();
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  const sizes of(evolution, analyses.getResult<llvm::TargetIRAnalysis>(function), loops,
                 analyses.getResult<llvm::BlockFrequencyAnalysis>(function));
  std::vector<counter> all;
  for (llvm::Loop* loop : loops.getLoopsInPreorder())
    if (const auto counts = counter_of(*loop, evolution, of))
      all.push_back(*counts);
  // Scalar evolution knows less about code in strips.
  for (const counter& each : all)
    for (llvm::Loop* inner : each.loop->getLoopsInPreorder())
      if (llvm::none_of(all, [&](const counter& other) { return other.loop == inner; }))
        mark_if_bounded(*inner, evolution);
  for (counter& each : all)
    if (each.by != nullptr)
      each.steps = steps_of(each, evolution);
  auto& remarks = analyses.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function);
  for (const counter& each : all) {
    remarks.emit([&] {
      return llvm::OptimizationRemark(DEBUG_TYPE, "Strips", each.loop->getStartLoc(), each.loop->getHeader())
             << "split the loop into strips of " << llvm::ore::NV("Rounds", each.rounds) << " iterations";
    });
    make_strips(each);
    ++loops_split;
  }
  return all.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace sennit::compiler
