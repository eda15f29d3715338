#include "trip_counts.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/CommandLine.h>

#include <optional>
#include <vector>

namespace sennit::compiler {

namespace {

// The second seed's player was switched every 7,700 cycles.
llvm::cl::opt<unsigned> limit(
    "sennit-polls-limit", llvm::cl::init(8192),
    llvm::cl::desc("How many machine instructions a loop may have without a check, in all its rounds"));

constexpr llvm::StringLiteral before = "# sennit: before loop ";
constexpr llvm::StringLiteral round = "# sennit: round of loop ";
constexpr llvm::StringLiteral of = " of ";
constexpr llvm::StringLiteral at_most = " at most";

void put_before(llvm::Instruction& at, const llvm::Twine& text) {
  llvm::IRBuilder<> builder(&at);
  auto* const type = llvm::FunctionType::get(builder.getVoidTy(), false);
  // Without "memory": loads and stores may be moved across it.
  auto* const mark = builder.CreateCall(llvm::InlineAsm::get(type, text.str(), "", true));
  mark->setDoesNotThrow();
  mark->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
}

std::optional<loop_mark> mark_in(llvm::StringRef text) {
  loop_mark mark{};
  if (text.consume_front(before)) {
    if (text.getAsInteger(10, mark.loop))
      return std::nullopt;
    return mark;
  }
  if (!text.consume_front(round) || text.consumeInteger(10, mark.loop) || !text.consume_front(of) ||
      text.consumeInteger(10, mark.rounds) || text != at_most || mark.rounds == 0)
    return std::nullopt;
  return mark;
}

bool is_mark(const llvm::MachineInstr& instruction) {
  return instruction.isInlineAsm() && mark_in(instruction.getOperand(0).getSymbolName());
}

}  // namespace

std::uint64_t most_without_check() {
  return limit;
}

bool calls_something(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks())
    for (const llvm::Instruction& each : *block) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&each);
      if (call == nullptr)
        continue;
      if (!llvm::isa<llvm::IntrinsicInst>(call))
        return true;
      if (const auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(call))
        if (!llvm::isa<llvm::ConstantInt>(copy->getLength()))
          return true;
    }
  return false;
}

std::uint64_t size_of(const llvm::Loop& loop, const llvm::TargetTransformInfo& target) {
  llvm::InstructionCost sum = 0;
  for (const llvm::BasicBlock* block : loop.blocks())
    for (const llvm::Instruction& each : *block)
      sum += target.getInstructionCost(&each, llvm::TargetTransformInfo::TCK_CodeSize);
  const auto value = sum.getValue();
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 1;
}

llvm::PreservedAnalyses mark_trip_counts::run(llvm::Function& function,
                                              llvm::FunctionAnalysisManager& analyses) {
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  struct proved {
    llvm::Loop* loop;
    unsigned rounds;
  };
  std::vector<proved> all;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    const unsigned rounds = evolution.getSmallConstantMaxTripCount(loop);
    if (rounds != 0 && rounds <= limit && loop->getLoopPreheader() != nullptr && !calls_something(*loop))
      all.push_back({loop, rounds});
  }
  unsigned number = 0;
  for (const auto& [loop, rounds] : all) {
    put_before(*loop->getLoopPreheader()->getTerminator(), before + llvm::Twine(++number));
    // Behind the loads and stores of the block: they are scheduled as if there were no mark.
    put_before(*loop->getHeader()->getTerminator(),
               round + llvm::Twine(number) + of + llvm::Twine(rounds) + at_most);
  }
  if (all.empty())
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

llvm::SmallVector<loop_mark, 2> marks_of(const llvm::MachineBasicBlock& block) {
  llvm::SmallVector<loop_mark, 2> marks;
  for (const llvm::MachineInstr& each : block)
    if (each.isInlineAsm())
      if (const auto mark = mark_in(each.getOperand(0).getSymbolName()))
        marks.push_back(*mark);
  return marks;
}

bool remove_marks(llvm::MachineFunction& function) {
  bool any = false;
  for (llvm::MachineBasicBlock& block : function)
    for (llvm::MachineInstr& each : llvm::make_early_inc_range(block))
      if (is_mark(each)) {
        each.eraseFromParent();
        any = true;
      }
  return any;
}

}  // namespace sennit::compiler
