#include "polls.hpp"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "machine_pass.hpp"
#include "no_yield.hpp"
#include "poll_code.hpp"
#include "save_set.hpp"

namespace sennit::compiler {

namespace {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;
using llvm::MachineInstr;
using llvm::StringRef;

llvm::cl::opt<bool> wanted("sennit-polls", llvm::cl::desc("Put yield checks into loops and recursion"));

enum class placement : std::uint8_t { min, max, begin, ends };
llvm::cl::opt<placement> where(
    "sennit-polls-placement", llvm::cl::init(placement::min), llvm::cl::desc("Where in a loop its check is"),
    llvm::cl::values(clEnumValN(placement::min, "min", "where the fewest registers must be saved"),
                     clEnumValN(placement::max, "max", "where the most must be saved, to compare with"),
                     clEnumValN(placement::begin, "begin", "at the beginning of the loop's entry"),
                     clEnumValN(placement::ends, "ends", "at a beginning or an end of a block: the best")));

constexpr int no_place = 1 << 20;  // a rank

// ---- Places.

class function_polls {
public:
  explicit function_polls(MachineFunction& function)
      : function_(function),
        instructions_(*function.getSubtarget().getInstrInfo()),
        registers_(*function.getSubtarget().getRegisterInfo()),
        savable_(function),
        no_yield_(function),
        code_(function) {}

  bool run();

private:
  using blocks = std::vector<MachineBasicBlock*>;

  std::optional<gap> best_in(MachineBasicBlock& block, placement by, bool before_calls);
  void choose_entry();
  void cover(const blocks& loop);
  std::vector<blocks> cycles_among(const blocks& among) const;
  blocks without_checked(const blocks& all, const MachineBasicBlock* but = nullptr) const;
  const std::optional<gap>& place_in(MachineBasicBlock& block);

  MachineFunction& function_;
  const llvm::TargetInstrInfo& instructions_;
  const llvm::TargetRegisterInfo& registers_;
  const savable_registers savable_;
  const no_yield_depth no_yield_;
  poll_code code_;
  llvm::DenseMap<MachineBasicBlock*, unsigned> order_;
  llvm::DenseMap<MachineBasicBlock*, std::optional<gap>> places_;
  llvm::DenseMap<MachineBasicBlock*, gap> chosen_;
};

bool is_push(const MachineInstr& instruction, const llvm::TargetInstrInfo& instructions) {
  return instructions.getName(instruction.getOpcode()).starts_with("PUSH") && !instruction.isInlineAsm();
}

// Before which instructions there is a place, and whether at the end: not within a prologue or an
// epilogue, a bundle, the terminators, a call's arguments on the stack; nor before what belongs to the
// instruction before it (unwind information, labels).
std::vector<bool> legal_places(const MachineBasicBlock& block, const llvm::TargetInstrInfo& instructions,
                               unsigned no_yield, bool before_calls) {
  std::vector<bool> legal;
  bool left = false;       // an epilogue has begun
  bool arguments = false;  // are being pushed
  bool label = false;      // begins the call that follows
  bool end = false;        // a terminator has been seen
  std::size_t prologue_until = 0;
  for (const MachineInstr& each : block) {
    if (each.getFlag(MachineInstr::FrameSetup))
      prologue_until = legal.size() + 1;
    legal.push_back(no_yield == 0 && !left && !arguments && !label && !end && !each.isMetaInstruction() &&
                    !each.isPosition());
    no_yield = no_yield_depth::after(each, no_yield);
    left |= each.getFlag(MachineInstr::FrameDestroy);
    end |= each.isTerminator();
    end |= before_calls && each.isCall();
    if (each.isCall())
      arguments = false;
    else if (is_push(each, instructions) && !each.getFlag(MachineInstr::FrameSetup))
      arguments = true;
    if (!each.isDebugInstr())
      label = each.isEHLabel() && &each != &*block.getFirstNonDebugInstr();
  }
  legal.push_back(no_yield == 0 && !left && !arguments && !label && !end);
  std::fill_n(legal.begin(), prologue_until, false);
  return legal;
}

std::optional<gap> function_polls::best_in(MachineBasicBlock& block, placement by, bool before_calls) {
  if (block.isInlineAsmBrIndirectTarget() && block.empty())
    return std::nullopt;
  const std::vector<bool> legal = legal_places(block, instructions_, no_yield_.at_begin(block), before_calls);
  llvm::LivePhysRegs live(registers_);
  live.addLiveOuts(block);
  std::optional<gap> best;
  bool last = true;  // the last legal one is looked at first
  std::optional<gap> first;
  const auto consider = [&](MachineBasicBlock::iterator at) {
    const std::optional<save_set> saved = savable_.of(live);
    if (!saved)
      return;
    gap here{at, *saved, code_.reads_flags(live), savable_registers::spare(*saved), 0};
    here.rank = static_cast<int>(saved->count());
    if (by == placement::max)
      here.rank = 64 - here.rank;
    if (here.flags_live || (code_.indirect() && here.spare == nullptr))
      here.rank += on_the_stack;
    const bool at_end = std::exchange(last, false);
    if (!first || here.rank < on_the_stack || first->rank >= on_the_stack)
      first = here;
    if (by == placement::begin || (by == placement::ends && !at_end))
      return;
    if (!best || here.rank <= best->rank)
      best = here;
  };
  if (legal.back())
    consider(block.end());
  std::size_t index = legal.size() - 1;
  for (auto each = block.rbegin(); each != block.rend(); ++each) {
    live.stepBackward(*each);
    if (legal[--index])
      consider(each->getIterator());
  }
  if (first && (!best || (by == placement::ends && first->rank <= best->rank)))
    best = first;
  return best;
}

const std::optional<gap>& function_polls::place_in(MachineBasicBlock& block) {
  const auto [known, is_new] = places_.try_emplace(&block);
  if (is_new)
    known->second = best_in(block, where, false);
  return known->second;
}

// ---- Which functions may be part of a cycle of calls.

// Who is called may come back to us: nobody knows what it does.
bool is_unknown(const llvm::CallBase& call) {
  if (call.isInlineAsm())
    return false;
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr)
    return true;
  return callee->isDeclaration() && !callee->isIntrinsic() && !call.hasFnAttr(llvm::Attribute::NoCallback);
}

// It calls itself, directly or not, or somebody unknown who might.
bool may_recurse(const llvm::Function& function) {
  if (function.hasFnAttribute(llvm::Attribute::NoRecurse))
    return false;
  llvm::SmallPtrSet<const llvm::Function*, 32> seen;
  std::vector<const llvm::Function*> next{&function};
  while (!next.empty()) {
    const llvm::Function& caller = *next.back();
    next.pop_back();
    for (const llvm::Instruction& each : llvm::instructions(caller)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&each);
      if (call == nullptr)
        continue;
      if (is_unknown(*call) || call->getCalledFunction() == &function)
        return true;
      if (const llvm::Function* callee = call->getCalledFunction(); callee && seen.insert(callee).second)
        next.push_back(callee);
    }
  }
  return false;
}

void function_polls::choose_entry() {
  MachineBasicBlock& entry = function_.front();
  if (const std::optional<gap> place = best_in(entry, where, true))
    chosen_.try_emplace(&entry, *place);
  else
    llvm::errs() << "sennit: " << function_.getName() << ": no place for a check at its entry\n";
}

// ---- Which blocks.

function_polls::blocks function_polls::without_checked(const blocks& all,
                                                       const MachineBasicBlock* but) const {
  blocks left;
  for (MachineBasicBlock* each : all)
    if (each != but && !chosen_.contains(each))
      left.push_back(each);
  return left;
}

// Strongly connected parts that hold a cycle (Tarjan's algorithm, without recursion).
std::vector<function_polls::blocks> function_polls::cycles_among(const blocks& among) const {
  struct state {
    unsigned number = 0, low = 0;
    bool on_path = false;
  };
  llvm::DenseMap<MachineBasicBlock*, state> states;
  for (MachineBasicBlock* each : among)
    states[each];
  std::vector<blocks> found;
  blocks path;
  unsigned count = 0;
  struct visit {
    MachineBasicBlock* block;
    MachineBasicBlock::succ_iterator next;
  };
  std::vector<visit> stack;
  const auto enter = [&](MachineBasicBlock* block) {
    states[block] = {++count, count, true};
    path.push_back(block);
    stack.push_back({block, block->succ_begin()});
  };
  const auto leave = [&](MachineBasicBlock* block) {
    stack.pop_back();
    const state mine = states[block];
    if (!stack.empty())
      states[stack.back().block].low = std::min(states[stack.back().block].low, mine.low);
    if (mine.low != mine.number)
      return;
    blocks part;
    do {
      part.push_back(path.back());
      states[path.back()].on_path = false;
      path.pop_back();
    } while (part.back() != block);
    if (part.size() > 1 || block->isSuccessor(block))
      found.push_back(std::move(part));
  };
  for (MachineBasicBlock* root : among) {
    if (states[root].number != 0)
      continue;
    enter(root);
    while (!stack.empty()) {
      visit& top = stack.back();
      if (top.next == top.block->succ_end()) {
        leave(top.block);
        continue;
      }
      MachineBasicBlock* next = *top.next++;
      const auto known = states.find(next);
      if (known == states.end())
        continue;
      if (known->second.number == 0)
        enter(next);
      else if (known->second.on_path)
        states[top.block].low = std::min(states[top.block].low, known->second.number);
    }
  }
  return found;
}

constexpr std::size_t most_tries = 32;  // of blocks that might cut all cycles

void function_polls::cover(const blocks& loop) {
  MachineBasicBlock* const entry =
      *std::min_element(loop.begin(), loop.end(), [&](MachineBasicBlock* one, MachineBasicBlock* other) {
        return order_.lookup(one) < order_.lookup(other);
      });
  blocks body = loop;
  body.erase(llvm::find(body, entry));
  llvm::SmallPtrSet<MachineBasicBlock*, 16> inner;
  for (const blocks& each : cycles_among(body)) {
    cover(each);
    inner.insert(each.begin(), each.end());
  }
  if (cycles_among(without_checked(loop)).empty())
    return;
  const auto rank = [&](MachineBasicBlock* block) {
    const std::optional<gap>& place = place_in(*block);
    return place ? place->rank : no_place;
  };
  blocks candidates{entry};
  if (where != placement::begin || rank(entry) == no_place)
    for (MachineBasicBlock* each : loop)
      if (each != entry && !inner.contains(each))
        candidates.push_back(each);
  llvm::sort(candidates, [&](MachineBasicBlock* one, MachineBasicBlock* other) {
    return std::pair(rank(one), order_.lookup(one)) < std::pair(rank(other), order_.lookup(other));
  });
  std::size_t tries = 0;
  for (MachineBasicBlock* each : candidates) {
    if (rank(each) == no_place)
      break;
    if (each != entry && (++tries > most_tries || !cycles_among(without_checked(loop, each)).empty()))
      continue;
    chosen_.try_emplace(each, *place_in(*each));
    return;
  }
  // A prologue's own loop touches the pages of a large frame; Sennit's own wait for nobody's turn.
  if (!llvm::all_of(loop, [&](const MachineBasicBlock* block) {
        return no_yield_.at_begin(*block) != 0 || llvm::any_of(*block, [](const MachineInstr& i) {
                 return i.getFlag(MachineInstr::FrameSetup);
               });
      }))
    llvm::errs() << "sennit: " << function_.getName() << ": a loop has no place for a check\n";
}

bool function_polls::run() {
  blocks all;
  for (MachineBasicBlock* each : llvm::ReversePostOrderTraversal<MachineFunction*>(&function_)) {
    order_[each] = static_cast<unsigned>(all.size());
    all.push_back(each);
  }
  if (may_recurse(function_.getFunction()))
    choose_entry();
  for (const blocks& loop : cycles_among(all))
    cover(loop);
  // In the order of the code, so that it is the same each time.
  for (MachineBasicBlock* block : all)
    if (const auto place = chosen_.find(block); place != chosen_.end())
      code_.emit(*block, place->second);
  return !chosen_.empty();
}

// ---- Which functions.

bool is_left_alone(const llvm::Function& function) {
  return is_no_yield(function) || function.hasFnAttribute(llvm::Attribute::Naked) ||
         function.getCallingConv() == llvm::CallingConv::X86_INTR;
}

bool polls_step(MachineFunction& function) {
  if (function.getTarget().getTargetTriple().getArch() != llvm::Triple::x86_64)
    llvm::report_fatal_error("sennit: -sennit-polls is for x86-64 only");
  if (is_left_alone(function.getFunction()) || !function.getRegInfo().tracksLiveness())
    return false;
  return function_polls(function).run();
}

}  // namespace

void add_polls(llvm::PassBuilder& passes) {
  if (!wanted)
    return;
  add_machine_step(polls_step);
  passes.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) { manager.addPass(mark_no_yield()); });
}

}  // namespace sennit::compiler
