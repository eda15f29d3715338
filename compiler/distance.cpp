#include "distance.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

#include "asm_marks.hpp"
#include "verify_polls.hpp"

namespace sennit::compiler {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;

namespace {

std::uint64_t statements_of(const MachineInstr& assembly) {
  llvm::SmallVector<llvm::StringRef, 8> statements;
  assembly_of(assembly).split(statements, '\n', -1, false);
  return static_cast<std::uint64_t>(llvm::count_if(statements, [](llvm::StringRef each) {
    return !each.trim().empty() && !each.trim().starts_with("#");
  }));
}

}  // namespace

costs::costs(const llvm::MachineFunction& function, measure of) : measure_(of) {
  if (of == measure::cycles)
    model_.init(&function.getSubtarget());
}

std::uint64_t costs::of(const MachineInstr& instruction) const {
  if (instruction.isMetaInstruction())
    return 0;
  if (instruction.isInlineAsm())
    return statements_of(instruction);
  return measure_ == measure::instructions ? 1 : std::max(1U, model_.computeInstrLatency(&instruction));
}

distances::distances(const llvm::MachineFunction& function, measure of,
                     llvm::function_ref<std::uint64_t(const MachineInstr& call)> called)
    : function_(function) {
  const costs cost(function, of);
  const llvm::TargetInstrInfo& instructions = *function.getSubtarget().getInstrInfo();
  for (const MachineBasicBlock& block : function) {
    known& mine = known_[&block];
    mine.marks = marks_of(block);
    mine.checked = ends_with_check(block);
    for (const loop_mark& mark : mine.marks)
      if (mark.rounds == 0)
        marked_before_.insert(mark.loop);
    for (const MachineInstr& each : block) {
      mine.cost = llvm::SaturatingAdd(mine.cost, cost.of(each));
      if (each.isCall())
        mine.cost = llvm::SaturatingAdd(mine.cost, called(each));
      mine.long_one |= each.isCall() || instructions.getName(each.getOpcode()).starts_with("REP_");
    }
  }
}

std::optional<std::uint64_t> distances::most_in(const blocks& cycle) const {
  llvm::SmallDenseMap<unsigned, std::uint64_t> rounds;
  for (const MachineBasicBlock* block : cycle) {
    const known& here = known_.find(block)->second;
    if (here.long_one)
      return std::nullopt;
    for (const loop_mark& mark : here.marks)
      if (mark.rounds != 0 && marked_before_.contains(mark.loop))
        rounds[mark.loop] = mark.rounds;
  }
  for (const MachineBasicBlock* block : cycle)
    for (const loop_mark& mark : known_.find(block)->second.marks)
      if (mark.rounds == 0)
        rounds.erase(mark.loop);
  if (rounds.empty())
    return std::nullopt;

  // Each way through the cycle is one through blocks of rounds, and through the others between them.
  std::uint64_t visits = 0, largest = 0;
  for (const auto& [loop, most] : rounds)
    visits = llvm::SaturatingAdd(visits, most);
  blocks others;
  for (MachineBasicBlock* block : cycle) {
    const known& here = known_.find(block)->second;
    if (llvm::any_of(here.marks, [&](const loop_mark& mark) { return rounds.contains(mark.loop); }))
      largest = std::max(largest, here.cost);
    else
      others.push_back(block);
  }
  const std::optional<std::uint64_t> between = most_among(others, false);
  if (!between)
    return std::nullopt;
  return llvm::SaturatingAdd(llvm::SaturatingMultiply(visits, largest),
                             llvm::SaturatingMultiply(visits + 1, *between));
}

std::optional<std::uint64_t> distances::most_among(const blocks& any, bool to_check) const {
  llvm::DenseMap<const MachineBasicBlock*, std::uint64_t> from;  // to wherever a way ends
  std::uint64_t most = 0;
  for (const blocks& part : components(any)) {
    std::uint64_t behind = 0;
    for (const MachineBasicBlock* block : part)
      for (const MachineBasicBlock* next : block->successors())
        behind = std::max(behind, !known_.find(next)->second.checked ? from.lookup(next)
                                  : to_check                         ? known_.find(next)->second.cost
                                                                     : 0);
    std::uint64_t here = known_.find(part.front())->second.cost;
    if (is_cycle(part)) {
      const std::optional<std::uint64_t> all = most_in(part);
      if (!all)
        return std::nullopt;
      here = *all;
    }
    const std::uint64_t sum = llvm::SaturatingAdd(here, behind);
    for (const MachineBasicBlock* block : part)
      from[block] = sum;
    most = std::max(most, sum);
  }
  return most;
}

std::optional<std::uint64_t> distances::most() const {
  blocks others;
  std::uint64_t most = 0;
  for (MachineBasicBlock& block : const_cast<llvm::MachineFunction&>(function_))
    if (const known& here = known_.find(&block)->second; here.checked)
      most = std::max(most, here.cost);
    else
      others.push_back(&block);
  const std::optional<std::uint64_t> between = most_among(others, true);
  return between ? std::optional(std::max(most, *between)) : std::nullopt;
}

}  // namespace sennit::compiler
