#include "trip_counts.hpp"

#include <llvm/ADT/Statistic.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/CommandLine.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "asm_marks.hpp"
#include "polls_at_link.hpp"

#define DEBUG_TYPE "sennit-trip-counts"

namespace sennit::compiler {

namespace {

ALWAYS_ENABLED_STATISTIC(loops_bounded, "Number of loops with a proved bound");

// The second seed's player was switched every 7,700 cycles.
link_option<unsigned> limit(
    "sennit-polls-limit", llvm::cl::init(8192),
    llvm::cl::desc("How many machine instructions a loop may have without a check, in all its rounds"));

link_option<unsigned> limit_ns(
    "sennit-polls-limit-ns", llvm::cl::init(0),
    llvm::cl::desc("How long a function may run without a check, by the scheduling model; instead of "
                   "-sennit-polls-limit"));
link_option<unsigned> mhz("sennit-polls-mhz", llvm::cl::init(1000),
                          llvm::cl::desc("Clock of the processor, for -sennit-polls-limit-ns"));
constexpr std::uint64_t most_cycles = 4;  // of an instruction, on average: they take two to three

constexpr llvm::StringLiteral before = "# sennit: before loop ";
constexpr llvm::StringLiteral round = "# sennit: round of loop ";
constexpr llvm::StringLiteral of = " of ";
constexpr llvm::StringLiteral at_most = " at most";

void put_before(llvm::Instruction& at, const llvm::Twine& text) {
  // Without "memory": loads and stores may be moved across it.
  llvm::CallInst& mark = put_mark(at, text, "");
  mark.setDoesNotThrow();
  mark.setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
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

bool is_mark(const llvm::Instruction& instruction) {
  return mark_in(assembly_of(instruction)).has_value();
}

bool is_mark(const llvm::MachineInstr& instruction) {
  return mark_in(assembly_of(instruction)).has_value();
}

}  // namespace

std::uint64_t most_without_check() {
  const std::optional<std::uint64_t> cycles = most_cycles_without_check();
  return cycles ? *cycles / most_cycles : limit;
}

std::optional<std::uint64_t> most_cycles_without_check() {
  if (limit_ns == 0)
    return std::nullopt;
  return std::uint64_t{limit_ns} * mhz / 1000;
}

bool calls_something(const llvm::BasicBlock& block) {
  return llvm::any_of(block, [](const llvm::Instruction& each) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&each);
    if (call == nullptr || is_mark(*call))
      return false;
    const auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(call);
    return !llvm::isa<llvm::IntrinsicInst>(call) ||
           (copy != nullptr && !llvm::isa<llvm::ConstantInt>(copy->getLength()));
  });
}

bool is_marked(const llvm::Loop& loop) {
  return llvm::any_of(*loop.getHeader(), [](const llvm::Instruction& each) { return is_mark(each); });
}

bool calls_something(const llvm::Loop& loop) {
  return llvm::any_of(loop.blocks(), [](const llvm::BasicBlock* each) { return calls_something(*each); });
}

std::uint64_t size_of(const llvm::BasicBlock& block, const llvm::TargetTransformInfo& target) {
  llvm::InstructionCost sum = 0;
  for (const llvm::Instruction& each : block)
    sum += target.getInstructionCost(&each, llvm::TargetTransformInfo::TCK_CodeSize);
  const auto value = sum.getValue();
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

std::uint64_t size_of(const llvm::Loop& loop, const llvm::TargetTransformInfo& target) {
  std::uint64_t sum = 0;
  for (const llvm::BasicBlock* each : loop.blocks())
    sum += size_of(*each, target);
  return std::max<std::uint64_t>(sum, 1);
}

void mark_rounds(llvm::BasicBlock& before_it, llvm::BasicBlock& header, std::uint64_t rounds) {
  ++loops_bounded;
  unsigned number = 0;
  for (const llvm::Instruction& each : llvm::instructions(*header.getParent()))
    if (const auto mark = mark_in(assembly_of(each)))
      number = std::max(number, mark->loop);
  put_before(*before_it.getTerminator(), before + llvm::Twine(++number));
  // Behind the loads and stores of the block: they are scheduled as if there were no mark.
  put_before(*header.getTerminator(), round + llvm::Twine(number) + of + llvm::Twine(rounds) + at_most);
}

bool mark_if_bounded(const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  const unsigned rounds = evolution.getSmallConstantMaxTripCount(&loop);
  if (rounds == 0 || rounds > limit || loop.getLoopPreheader() == nullptr || is_marked(loop) ||
      calls_something(loop))
    return false;
  mark_rounds(*loop.getLoopPreheader(), *loop.getHeader(), rounds);
  return true;
}

llvm::PreservedAnalyses mark_trip_counts::run(llvm::Function& function,
                                              llvm::FunctionAnalysisManager& analyses) {
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  bool changed = false;
  for (const llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder())
    changed |= mark_if_bounded(*loop, evolution);
  if (!changed)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

llvm::SmallVector<loop_mark, 2> marks_of(const llvm::MachineBasicBlock& block) {
  llvm::SmallVector<loop_mark, 2> marks;
  for (const llvm::MachineInstr& each : block)
    if (const auto mark = mark_in(assembly_of(each)))
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
