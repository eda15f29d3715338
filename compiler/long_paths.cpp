#include "long_paths.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "cycles.hpp"
#include "recursion.hpp"

namespace sennit::compiler {

namespace {

using llvm::MachineBasicBlock;

using length = std::optional<std::uint64_t>;

// A compare of memory and a branch, or the call of a stub and the jump back.
constexpr std::uint64_t of_check = 10;

length operator+(const length& one, const length& other) {
  return one && other ? length(llvm::SaturatingAdd(*one, *other)) : std::nullopt;
}

// Of what is known. Units of one link are compiled on several threads.
std::mutex guard;

}  // namespace

long_paths::long_paths(llvm::MachineFunction& function, measure of, std::uint64_t limit)
    : function_(function), distances_(function, of), costs_(function, of), limit_(limit), measure_(of) {}

// Of functions whose checks are final.
llvm::DenseMap<const llvm::Function*, long_paths::summary>& long_paths::known(measure of) {
  static std::array<llvm::DenseMap<const llvm::Function*, summary>, 2> all;
  return all[static_cast<std::size_t>(of)];
}

long_paths::summary long_paths::of_callee(const llvm::MachineInstr& call) const {
  const llvm::Function* callee = callee_of(call);
  const std::lock_guard locked(guard);
  const auto found = known(measure_).find(callee);
  if (callee == nullptr || callee->isDeclaration() || callee->isInterposable())
    return {0, std::nullopt, std::nullopt};
  if (found == known(measure_).end())  // it will keep the rules, too
    return {limit_ / 2, limit_ / 4 * 3, limit_ / 4 * 3};
  return found->second;
}

// Returns whether a path is too long in the block.
bool long_paths::advance(const MachineBasicBlock& block, const gap* check, state& now) {
  bool exceeded = false;
  const auto passes_check = [&](const length& more, std::uint64_t from_entry) {
    exceeded |= now.from_entry + more > length(from_entry) || now.from_check + more > length(limit_);
    mine_.enter = std::max(mine_.enter, now.from_entry + more);
  };
  const auto at_check = [&] {
    passes_check(of_check, limit_ / 2);
    now = {std::nullopt, of_check};
  };
  for (const llvm::MachineInstr& each : block) {
    if (check != nullptr && check->at == each.getIterator())
      at_check();
    const length cost = costs_.of(each);
    now = {now.from_entry + cost, now.from_check + cost};
    if (!each.isCall())
      continue;
    const summary callee = of_callee(each);
    passes_check(callee.enter, limit_ / 4 * 3);
    now = {now.from_entry + callee.through, std::max(now.from_check + callee.through, callee.leave)};
  }
  if (check != nullptr && check->at == block.end())
    at_check();
  if (block.succ_empty())
    exceeded |= now.from_entry > length(limit_ / 2) || now.from_check > length(limit_ / 4 * 3);
  return exceeded || std::max(now.from_entry, now.from_check) > length(limit_);
}

std::uint64_t long_paths::up_to(const MachineBasicBlock& block, MachineBasicBlock::const_iterator at) const {
  std::uint64_t sum = 0;
  for (const llvm::MachineInstr& each : llvm::make_range(block.begin(), at)) {
    sum = llvm::SaturatingAdd(sum, costs_.of(each));
    if (each.isCall())
      sum = llvm::SaturatingAdd(sum, of_callee(each).through.value_or(0));
  }
  return sum;
}

std::optional<long_paths::path> long_paths::walk(const checks& chosen, bool to_the_end) {
  mine_ = {};
  blocks unchecked, checked;
  for (MachineBasicBlock& block : function_)
    (chosen.contains(&block) ? checked : unchecked).push_back(&block);
  std::vector<blocks> parts = components(unchecked);
  std::reverse(parts.begin(), parts.end());
  for (MachineBasicBlock* each : checked)
    parts.push_back({each});

  struct reached {
    state begin, end;
    MachineBasicBlock* before = nullptr;  // on the longest path
  };
  llvm::DenseMap<const MachineBasicBlock*, reached> all;
  for (MachineBasicBlock* each : checked) {
    state behind;
    advance(*each, &chosen.find(each)->second, behind);
    all[each].end = behind;
  }
  mine_ = {};
  llvm::DenseMap<const MachineBasicBlock*, const blocks*> part_of;
  for (const blocks& part : parts)
    for (const MachineBasicBlock* each : part)
      part_of[each] = &part;

  for (const blocks& part : parts) {
    state begin;
    MachineBasicBlock* before = nullptr;
    for (MachineBasicBlock* block : part) {
      if (block == &function_.front())
        begin.from_entry = std::max(begin.from_entry, length(0));
      for (MachineBasicBlock* previous : block->predecessors()) {
        if (part_of.lookup(previous) == &part && !chosen.contains(previous))
          continue;
        const state& end = all[previous].end;
        if (std::max(end.from_entry, end.from_check) > std::max(begin.from_entry, begin.from_check))
          before = previous;
        begin.from_entry = std::max(begin.from_entry, end.from_entry);
        begin.from_check = std::max(begin.from_check, end.from_check);
      }
    }
    MachineBasicBlock* const block = part.front();
    const auto check = chosen.find(block);
    const bool is_checked = check != chosen.end();
    state end = begin;
    bool exceeded = false;
    if (!is_checked && is_cycle(part)) {
      const length most = distances_.most_in(part).value_or(0);
      end = {begin.from_entry + most, begin.from_check + most};
      exceeded = std::max(end.from_entry, end.from_check) > length(limit_);
    } else {
      exceeded = advance(*block, is_checked ? &check->second : nullptr, end);
    }
    if (exceeded && !to_the_end && given_up_.contains(block)) {
      end = {0, 0};
      exceeded = false;
    }
    for (const MachineBasicBlock* each : part)
      all[each] = {begin, end, before};
    if (exceeded && !to_the_end) {
      path found{block, {}};
      MachineBasicBlock* each = block;
      do {
        const reached& here = all[each];
        if (!is_cycle(*part_of.lookup(each)) || chosen.contains(each))
          found.points.push_back({each, std::max(here.begin.from_entry, here.begin.from_check).value_or(0)});
        each = here.before;
      } while (each != nullptr && !chosen.contains(each));
      return found;
    }
    if (part.size() == 1 && block->succ_empty()) {
      mine_.through = std::max(mine_.through, end.from_entry);
      mine_.leave = std::max(mine_.leave, end.from_check);
    }
  }
  return std::nullopt;
}

void long_paths::keep(const checks& chosen) {
  walk(chosen, true);
  const std::lock_guard locked(guard);
  known(measure_)[&function_.getFunction()] = mine_;
}

}  // namespace sennit::compiler
