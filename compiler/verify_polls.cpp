#include "verify_polls.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/MachineBasicBlock.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <vector>

#include "diagnose.hpp"
#include "no_yield.hpp"
#include "poll_code.hpp"
#include "recursion.hpp"
#include "trip_counts.hpp"

namespace sennit::compiler {

namespace {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;

class proof {
public:
  explicit proof(const llvm::MachineFunction& function) : function_(function), no_yield_(function) {
    for (const MachineBasicBlock& block : function)
      left_.insert(&block);
  }

  void of_cycles() {
    do {
      while (take_those_passed_once()) {
      }
      if (left_.empty())
        return;
    } while (take_bounded_rounds());
    for (const MachineBasicBlock& block : function_)
      if (left_.contains(&block) && !is_exempt(block) && reaches(block, block))
        return fail(block, "a cycle has no check");
  }

  void of_recursion() const {
    recursion calls(function_.getFunction());
    llvm::SmallPtrSet<const MachineBasicBlock*, 32> seen{&function_.front()};
    std::vector<const MachineBasicBlock*> next{&function_.front()};
    while (!next.empty()) {
      const MachineBasicBlock& block = *next.back();
      next.pop_back();
      for (const MachineInstr& each : block)
        if (calls.may_begin_at(each))
          return fail(block, "it may recurse without a check");
      for (const MachineBasicBlock* follower : followers(block))
        if (seen.insert(follower).second)
          next.push_back(follower);
    }
  }

private:
  static std::vector<const MachineBasicBlock*> followers(const MachineBasicBlock& block) {
    if (ends_with_check(block))
      return {};
    return {block.succ_begin(), block.succ_end()};
  }

  bool is_exempt(const MachineBasicBlock& block) const {
    return no_yield_.at_begin(block) != 0 || llvm::any_of(block, [](const MachineInstr& each) {
             return each.getFlag(MachineInstr::FrameSetup);
           });
  }

  bool take_those_passed_once() {
    llvm::SmallPtrSet<const MachineBasicBlock*, 32> entered;
    for (const MachineBasicBlock* block : left_)
      for (const MachineBasicBlock* next : followers(*block))
        entered.insert(next);
    std::vector<const MachineBasicBlock*> taken;
    for (const MachineBasicBlock* block : left_)
      if (!entered.contains(block) || llvm::none_of(followers(*block), [&](const MachineBasicBlock* next) {
            return left_.contains(next);
          }))
        taken.push_back(block);
    return take(taken);
  }

  bool take_bounded_rounds() {
    std::vector<const MachineBasicBlock*> taken;
    for (const MachineBasicBlock* block : left_)
      if (llvm::any_of(marks_of(*block), [&](const loop_mark& mark) {
            return mark.rounds != 0 && is_marked_before(mark.loop) &&
                   !goes_round_by_mark_before(mark.loop, *block) && !goes_round_by_call(*block);
          }))
        taken.push_back(block);
    return take(taken);
  }

  bool is_marked_before(unsigned loop) const {
    return llvm::any_of(function_, [&](const MachineBasicBlock& block) {
      return llvm::any_of(marks_of(block),
                          [&](const loop_mark& mark) { return mark.loop == loop && mark.rounds == 0; });
    });
  }

  bool goes_round_by_mark_before(unsigned loop, const MachineBasicBlock& block) const {
    return llvm::any_of(left_, [&](const MachineBasicBlock* other) {
      return llvm::any_of(marks_of(*other),
                          [&](const loop_mark& mark) { return mark.loop == loop && mark.rounds == 0; }) &&
             (other == &block || (reaches(block, *other) && reaches(*other, block)));
    });
  }

  bool goes_round_by_call(const MachineBasicBlock& block) const {
    return llvm::any_of(left_, [&](const MachineBasicBlock* other) {
      return llvm::any_of(*other, [](const MachineInstr& each) { return each.isCall(); }) &&
             (other == &block || (reaches(block, *other) && reaches(*other, block)));
    });
  }

  bool take(const std::vector<const MachineBasicBlock*>& taken) {
    for (const MachineBasicBlock* each : taken)
      left_.erase(each);
    return !taken.empty();
  }

  // By one step or more, through the remaining blocks.
  bool reaches(const MachineBasicBlock& from, const MachineBasicBlock& to) const {
    llvm::SmallPtrSet<const MachineBasicBlock*, 32> seen;
    std::vector<const MachineBasicBlock*> next{&from};
    while (!next.empty()) {
      const MachineBasicBlock& block = *next.back();
      next.pop_back();
      for (const MachineBasicBlock* follower : followers(block)) {
        if (!left_.contains(follower) || !seen.insert(follower).second)
          continue;
        if (follower == &to)
          return true;
        next.push_back(follower);
      }
    }
    return false;
  }

  static void fail(const MachineBasicBlock& block, const char* what) {
    std::string text;
    llvm::raw_string_ostream(text) << what << " (block " << llvm::printMBBReference(block) << ')';
    diagnose(block, llvm::DS_Error, text);
  }

  const llvm::MachineFunction& function_;
  const no_yield_depth no_yield_;
  llvm::SmallPtrSet<const MachineBasicBlock*, 32> left_;
};

}  // namespace

bool ends_with_check(const MachineBasicBlock& block) {
  const auto calls_stub = [](const MachineInstr& each) {
    return each.isCall() && llvm::any_of(each.operands(), [](const llvm::MachineOperand& called) {
             return called.isSymbol() && llvm::StringRef(called.getSymbolName()).starts_with(stub_prefix);
           });
  };
  return llvm::any_of(block, names_poll) &&
         llvm::any_of(block.successors(),
                      [&](const MachineBasicBlock* next) { return llvm::any_of(*next, calls_stub); });
}

void verify_polls(const llvm::MachineFunction& function) {
  proof(function).of_recursion();
  proof(function).of_cycles();
}

}  // namespace sennit::compiler
