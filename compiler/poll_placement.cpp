#include "poll_placement.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/Statistic.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cycles.hpp"
#include "diagnose.hpp"
#include "distance.hpp"
#include "legal_places.hpp"
#include "long_paths.hpp"
#include "no_yield.hpp"
#include "polls_options.hpp"
#include "recursion.hpp"
#include "reservations.hpp"
#include "trip_counts.hpp"

#define DEBUG_TYPE "sennit-polls"

namespace sennit::compiler {

namespace {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;
using llvm::MachineInstr;

ALWAYS_ENABLED_STATISTIC(checks_inserted, "Number of checks inserted");
ALWAYS_ENABLED_STATISTIC(loops_without_check, "Number of loops that are short enough without a check");
ALWAYS_ENABLED_STATISTIC(loops_without_place, "Number of loops without a place for a check");

constexpr int apart = 1 << 8;  // ranks
constexpr int on_the_stack = 1 << 16;
constexpr int no_place = 1 << 20;

// Between checks. A cycle that has none may take half of a time, so that there is room for the code around
// it.
struct path_limit {
  measure of;
  std::uint64_t most, most_in_cycle;
};

path_limit limit_of_paths() {
  if (const std::optional<std::uint64_t> cycles = most_cycles_without_check())
    return {measure::cycles, *cycles, *cycles / 2};
  return {measure::instructions, most_without_check(),
          most_without_check() / (polls_scope == scope::needed ? 2 : 1)};
}

blocks without(blocks all, MachineBasicBlock* but) {
  std::erase(all, but);
  return all;
}

// ---- Places.

class function_polls {
public:
  function_polls(MachineFunction& function, poll_code& code, const placement_analyses& analyses)
      : function_(function),
        instructions_(*function.getSubtarget().getInstrInfo()),
        registers_(*function.getSubtarget().getRegisterInfo()),
        labels_(function),
        no_yield_(function),
        reserved_(function),
        limit_(limit_of_paths()),
        distances_(function, limit_.of),
        analyses_(analyses),
        code_(code) {}

  bool run();

private:
  std::optional<gap> best_in(MachineBasicBlock& block, placement by, bool before_calls);
  blocks cycle_around(MachineBasicBlock& block) const;
  void choose_before_calls();
  void cover(const blocks& loop);
  void diagnose_without_place(const blocks& loop) const;
  void remark_short(const blocks& loop);
  void remark_check(MachineBasicBlock& block, const gap& place);
  void shorten(long_paths& paths);
  void remove_unneeded(long_paths& paths, const checks& before_calls);
  void align_strips();
  MachineBasicBlock* entry_of(const blocks& cycle) const;
  std::uint64_t frequency_of(const MachineBasicBlock& block) const {
    return analyses_.frequencies.getBlockFreq(&block).getFrequency();
  }
  bool needs_none(const blocks& any) const;
  blocks without_checked(const blocks& all, const MachineBasicBlock* but = nullptr) const;
  const std::optional<gap>& place_in(MachineBasicBlock& block);

  MachineFunction& function_;
  const llvm::TargetInstrInfo& instructions_;
  const llvm::TargetRegisterInfo& registers_;
  const call_labels labels_;
  const no_yield_depth no_yield_;
  const reservations reserved_;
  const path_limit limit_;
  const distances distances_;
  const placement_analyses analyses_;
  poll_code& code_;
  blocks all_;
  llvm::DenseMap<MachineBasicBlock*, unsigned> order_;
  llvm::DenseMap<MachineBasicBlock*, std::optional<gap>> places_;
  checks chosen_;
};

std::optional<gap> function_polls::best_in(MachineBasicBlock& block, placement by, bool before_calls) {
  if (block.isInlineAsmBrIndirectTarget() && block.empty())
    return std::nullopt;
  const std::vector<bool> legal =
      legal_places(block, instructions_, labels_, no_yield_.at_begin(block), before_calls);
  llvm::LivePhysRegs live(registers_);
  live.addLiveOuts(block);
  std::optional<gap> best;
  bool last = true;  // the last legal one is looked at first
  std::optional<gap> first;
  const auto consider = [&](MachineBasicBlock::iterator at) {
    std::optional<gap> found = code_.gap_at(at, live);
    if (!found)
      return;
    gap& here = *found;
    if (by == placement::max)
      here.rank = 64 - here.rank;
    if (here.parts_compare)
      here.rank += apart;
    if (here.on_stack)
      here.rank += on_the_stack;
    const bool at_end = std::exchange(last, false);
    if (!first || here.rank < on_the_stack || first->rank >= on_the_stack)
      first = here;
    if (by == placement::begin || (by == placement::ends && !at_end))
      return;
    if (!best || here.rank <= best->rank)
      best = here;
  };
  bool reserved = reserved_.live_out(block);
  if (legal.back() && !reserved)
    consider(block.end());
  std::size_t index = legal.size() - 1;
  for (auto each = block.rbegin(); each != block.rend(); ++each) {
    live.stepBackward(*each);
    reserved = reservations::live_before(*each, reserved);
    if (legal[--index] && !reserved)
      consider(each->getIterator());
  }
  if (first && (!best || (by == placement::ends && first->rank <= best->rank)))
    best = first;
  return best;
}

const std::optional<gap>& function_polls::place_in(MachineBasicBlock& block) {
  const auto [known, is_new] = places_.try_emplace(&block);
  if (is_new)
    known->second = best_in(block, polls_placement, false);
  return known->second;
}

// ---- Recursion.

// The innermost cycle around a block; empty: none.
blocks function_polls::cycle_around(MachineBasicBlock& block) const {
  blocks found;
  for (blocks among = all_;;) {
    const std::vector<blocks> cycles = cycles_among(among);
    const auto around =
        llvm::find_if(cycles, [&](const blocks& each) { return llvm::is_contained(each, &block); });
    if (around == cycles.end())
      return found;
    found = *around;
    if (entry_of(found) == &block)
      return found;
    among = without(found, entry_of(found));
  }
}

// Checks on all ways to calls that may come back here: one in a block that all of them go through, or one
// with each of the calls, where these are so much rarer. It may be in a loop if that needs one anyway.
void function_polls::choose_before_calls() {
  recursion calls(function_.getFunction());
  blocks callers;
  for (MachineBasicBlock* block : all_)
    if (llvm::any_of(*block, [&](const MachineInstr& each) { return calls.may_begin_at(each); }))
      callers.push_back(block);
  if (callers.empty())
    return;
  MachineBasicBlock* on_all_ways = callers.front();
  std::uint64_t frequency = 0;
  for (MachineBasicBlock* block : callers) {
    on_all_ways = analyses_.dominators.findNearestCommonDominator(on_all_ways, block);
    frequency += frequency_of(*block);
  }
  if (polls_placement == placement::min && frequency < frequency_of(*on_all_ways) / 2) {
    std::vector<std::optional<gap>> places;
    for (MachineBasicBlock* block : callers)
      places.push_back(best_in(*block, polls_placement, true));
    if (llvm::all_of(places,
                     [](const std::optional<gap>& each) { return each && each->rank < on_the_stack; })) {
      for (std::size_t i = 0; i < callers.size(); ++i)
        chosen_.try_emplace(callers[i], *places[i]);
      return;
    }
  }
  for (auto* node = analyses_.dominators.getNode(on_all_ways); node != nullptr; node = node->getIDom()) {
    MachineBasicBlock& block = *node->getBlock();
    const blocks cycle = cycle_around(block);
    if (!cycle.empty() && !needs_none(without(cycle, &block)))
      continue;
    if (const std::optional<gap> place = best_in(block, polls_placement, true)) {
      chosen_.try_emplace(&block, *place);
      return;
    }
  }
  diagnose(function_.front(), llvm::DS_Warning, "no place for a check before it calls what may call it");
}

// ---- Which blocks.

MachineBasicBlock* function_polls::entry_of(const blocks& cycle) const {
  return *std::min_element(cycle.begin(), cycle.end(), [&](MachineBasicBlock* one, MachineBasicBlock* other) {
    return order_.lookup(one) < order_.lookup(other);
  });
}

blocks function_polls::without_checked(const blocks& all, const MachineBasicBlock* but) const {
  blocks left;
  for (MachineBasicBlock* each : all)
    if (each != but && !chosen_.contains(each))
      left.push_back(each);
  return left;
}

// Every cycle among them has a proved bound, and that is near enough.
bool function_polls::needs_none(const blocks& any) const {
  return llvm::all_of(cycles_among(any), [&](const blocks& cycle) {
    const std::optional<std::uint64_t> most = distances_.most_in(cycle);
    return most && *most <= limit_.most_in_cycle;
  });
}

void function_polls::remark_short(const blocks& loop) {
  ++loops_without_check;
  MachineBasicBlock& entry = *entry_of(loop);
  analyses_.remarks.emit([&] {
    return llvm::MachineOptimizationRemarkAnalysis(DEBUG_TYPE, "NoCheck", entry.findDebugLoc(entry.begin()),
                                                   &entry)
           << "the loop has no check: it executes at most "
           << llvm::ore::NV("Most", *distances_.most_in(loop))
           << (limit_.of == measure::cycles ? " cycles" : " instructions");
  });
}

void function_polls::remark_check(MachineBasicBlock& block, const gap& place) {
  ++checks_inserted;
  analyses_.remarks.emit([&] {
    return llvm::MachineOptimizationRemark(DEBUG_TYPE, "Check", block.findDebugLoc(place.at), &block)
           << "inserted a check; a yield saves " << llvm::ore::NV("Registers", place.saved.count())
           << " registers";
  });
}

constexpr std::size_t most_tries = 32;  // of blocks that might cut all cycles

void function_polls::cover(const blocks& loop) {
  if (needs_none(loop))
    return remark_short(loop);
  MachineBasicBlock* const entry = entry_of(loop);
  llvm::SmallPtrSet<MachineBasicBlock*, 16> inner;
  for (const blocks& each : cycles_among(without(loop, entry))) {
    cover(each);
    inner.insert(each.begin(), each.end());
  }
  if (needs_none(without_checked(loop)))
    return;
  const auto rank = [&](MachineBasicBlock* block) {
    const std::optional<gap>& place = place_in(*block);
    return place ? place->rank : no_place;
  };
  blocks candidates{entry};
  if (polls_placement != placement::begin || rank(entry) == no_place)
    for (MachineBasicBlock* each : loop)
      if (each != entry && !inner.contains(each))
        candidates.push_back(each);
  // Where few rounds come by: so much rarer, and then where little is saved.
  const std::uint64_t rounds = frequency_of(*entry);
  const auto rarity = [&](MachineBasicBlock* block) {
    const std::uint64_t here = std::max<std::uint64_t>(frequency_of(*block), 1);
    return polls_placement != placement::min || here > rounds / 2 ? 0U : llvm::Log2_64(rounds / here);
  };
  llvm::sort(candidates, [&](MachineBasicBlock* one, MachineBasicBlock* other) {
    return std::tuple(rank(one) == no_place, rarity(other), rank(one), order_.lookup(one)) <
           std::tuple(rank(other) == no_place, rarity(one), rank(other), order_.lookup(other));
  });
  std::size_t tries = 0;
  for (MachineBasicBlock* each : candidates) {
    if (rank(each) == no_place)
      break;
    if (each != entry && (++tries > most_tries || !needs_none(without_checked(loop, each))))
      continue;
    chosen_.try_emplace(each, *place_in(*each));
    return;
  }
  diagnose_without_place(loop);
}

void function_polls::diagnose_without_place(const blocks& loop) const {
  // A prologue's own loop touches the pages of a large frame; loops in Sennit's own code do not wait for
  // fibers.
  if (llvm::all_of(loop, [&](const MachineBasicBlock* block) {
        return no_yield_.at_begin(*block) != 0 || llvm::any_of(*block, [](const MachineInstr& i) {
                 return i.getFlag(MachineInstr::FrameSetup);
               });
      }))
    return;
  ++loops_without_place;
  diagnose(*entry_of(loop), llvm::DS_Warning,
           "a loop has no place for a check: in all of it something is live that no stub saves");
}

// ---- Paths.

// Puts checks on paths that are too long: where they are executed rarely and save little, in the second half
// of what is allowed.
void function_polls::shorten(long_paths& paths) {
  while (const std::optional<long_paths::path> path = paths.first(chosen_)) {
    using worth = std::tuple<bool, std::uint64_t, int, std::uint64_t>;  // the least is taken
    std::optional<std::pair<worth, MachineBasicBlock*>> best;
    for (const auto& [block, before] : path->points) {
      const std::optional<gap>& place = place_in(*block);
      if (!place || chosen_.contains(block))
        continue;
      const std::uint64_t here = llvm::SaturatingAdd(before, paths.up_to(*block, place->at));
      if (here > limit_.most)
        continue;
      const bool early = here < limit_.most / 2;
      const std::pair each{early ? worth{true, limit_.most - here, 0, 0}
                                 : worth{false, frequency_of(*block), place->rank, limit_.most - here},
                           block};
      if (!best || each.first < best->first)
        best = each;
    }
    if (!best) {
      if (no_yield_.at_begin(*path->end) == 0)
        diagnose(*path->end, llvm::DS_Warning,
                 "a path longer than -sennit-polls-limit-ns has no place for a check");
      paths.give_up(*path->end);
      continue;
    }
    chosen_.try_emplace(best->second, *place_in(*best->second));
  }
}

// From each block: first from those that are executed the most often.
void function_polls::remove_unneeded(long_paths& paths, const checks& before_calls) {
  blocks candidates;
  for (MachineBasicBlock* each : all_)
    if (chosen_.contains(each) && !before_calls.contains(each))
      candidates.push_back(each);
  llvm::sort(candidates, [&](MachineBasicBlock* one, MachineBasicBlock* other) {
    return std::tuple(frequency_of(*other), order_.lookup(one)) <
           std::tuple(frequency_of(*one), order_.lookup(other));
  });
  const bool has_bound = needs_none(without_checked(all_)) && !paths.first(chosen_);
  for (MachineBasicBlock* each : candidates) {
    const gap place = chosen_.find(each)->second;
    chosen_.erase(each);
    if (!has_bound || !needs_none(without_checked(all_)) || paths.first(chosen_))
      chosen_.try_emplace(each, place);
  }
}

// Aligns a strip with inner loops as LLVM aligns loops, even if its rounds fall into its first block: LLVM
// aligns only the block that is laid out first. A strip's end is in a register, and a compare with that is
// shorter than with a constant, so branches lie elsewhere than without strips. On Zen 5 they were at
// addresses where a loop takes 1.5 times as long, with checks or without (mispredicted, it seems).
void function_polls::align_strips() {
  const llvm::TargetLowering& target = *function_.getSubtarget().getTargetLowering();
  for (MachineBasicBlock* each : all_) {
    llvm::MachineLoop* const loop = analyses_.loops.getLoopFor(each);
    if (loop == nullptr || loop->getHeader() != each || loop->isInnermost() || marks_of(*each).empty())
      continue;
    // Around it: where a strip begins, and where it ends.
    const llvm::MachineLoop* const around = loop->getParentLoop();
    if (around == nullptr || around->getNumBlocks() > loop->getNumBlocks() + 2)
      continue;
    if (llvm::any_of(chosen_, [&](const auto& check) {
          return around->contains(check.first) && !loop->contains(check.first);
        }))
      each->setAlignment(std::max(each->getAlignment(), target.getPrefLoopAlignment(loop)));
  }
}

bool function_polls::run() {
  for (MachineBasicBlock* each : llvm::ReversePostOrderTraversal<MachineFunction*>(&function_)) {
    order_[each] = static_cast<unsigned>(all_.size());
    all_.push_back(each);
  }
  choose_before_calls();
  const checks before_calls = chosen_;
  if (polls_scope != scope::cycles)
    for (MachineBasicBlock* each : all_)
      if (const std::optional<gap>& place = place_in(*each))
        chosen_.try_emplace(each, *place);
  for (const blocks& loop : cycles_among(all_))
    cover(loop);
  if (limit_.of == measure::cycles || polls_scope == scope::needed) {
    long_paths paths(function_, limit_.of, limit_.most);
    if (limit_.of == measure::cycles)
      shorten(paths);
    if (polls_scope == scope::needed)
      remove_unneeded(paths, before_calls);
    paths.keep(chosen_);
  }
  align_strips();
  // In code order, so that the result is the same each time.
  unsigned number = 0;
  for (MachineBasicBlock* block : all_)
    if (const auto place = chosen_.find(block); place != chosen_.end() && ++number != poll_left_out) {
      remark_check(*block, place->second);
      code_.emit(*block, place->second);
    }
  return !chosen_.empty();
}

}  // namespace

bool place_polls(MachineFunction& function, poll_code& code, const placement_analyses& analyses) {
  return function_polls(function, code, analyses).run();
}

}  // namespace sennit::compiler
