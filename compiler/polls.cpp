#include "polls.hpp"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetFrameLowering.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCDwarf.h>
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

enum class tls_access : std::uint8_t { automatic, local_exec, initial_exec };
llvm::cl::opt<tls_access> access_wanted(
    "sennit-polls-tls", llvm::cl::init(tls_access::automatic), llvm::cl::desc("How a check finds its flag"),
    llvm::cl::values(clEnumValN(tls_access::automatic, "auto", "local-exec, but in code for shared objects"),
                     clEnumValN(tls_access::local_exec, "local-exec",
                                "for executables with a static libsennit"),
                     clEnumValN(tls_access::initial_exec, "initial-exec", "for any")));

constexpr const char* flag = "sennit_yield_requested";

// ---- What is x86-64's.

// By names, once: the target's own header is none of those that are installed.
struct encodings {
  unsigned compare, load_address, load, call, push, pop, push_flags, pop_flags;
  unsigned stack_pointer, thread, flags, instruction_pointer;
  unsigned thread_offset, thread_offset_entry;  // relocations

  encodings(const llvm::TargetInstrInfo& instructions, const llvm::TargetRegisterInfo& registers) {
    const std::pair<const char*, unsigned*> opcodes[] = {
        {"CMP8mi", &compare}, {"LEA64r", &load_address}, {"MOV64rm", &load},       {"CALL64pcrel32", &call},
        {"PUSH64r", &push},   {"POP64r", &pop},          {"PUSHF64", &push_flags}, {"POPF64", &pop_flags}};
    for (const auto& [name, number] : opcodes)
      *number = find(instructions.getNumOpcodes(), name, [&](unsigned i) { return instructions.getName(i); });
    const std::pair<const char*, unsigned*> names[] = {
        {"RSP", &stack_pointer}, {"FS", &thread}, {"EFLAGS", &flags}, {"RIP", &instruction_pointer}};
    for (const auto& [name, number] : names)
      *number = register_of(registers, name);
    thread_offset = thread_offset_entry = 0;
    for (const auto& [number, name] : instructions.getSerializableDirectMachineOperandTargetFlags())
      if (StringRef(name) == "x86-tpoff")
        thread_offset = number;
      else if (StringRef(name) == "x86-gottpoff")
        thread_offset_entry = number;
    if (thread_offset == 0 || thread_offset_entry == 0)
      llvm::report_fatal_error("sennit: this LLVM's x86 has no names for thread-local relocations");
  }

  static unsigned register_of(const llvm::TargetRegisterInfo& registers, StringRef name) {
    return find(registers.getNumRegs(), name, [&](unsigned i) { return StringRef(registers.getName(i)); });
  }

private:
  template <class Name>
  static unsigned find(unsigned count, StringRef name, Name name_of) {
    for (unsigned i = 1; i < count; ++i)
      if (name_of(i).equals_insensitive(name))
        return i;
    llvm::report_fatal_error("sennit: this LLVM's x86 has no " + name);
  }
};

// ---- Places.

// In a block, before an instruction or at the end. `rank`: the lowest is taken.
struct gap {
  MachineBasicBlock::iterator at;
  save_set saved;
  bool flags_live = false;
  const char* spare = nullptr;  // a register that may be written
  int rank = 0;
};

constexpr int on_the_stack = 1 << 16;  // of those that must save more to check at all
constexpr int no_place = 1 << 20;

class function_polls {
public:
  explicit function_polls(MachineFunction& function)
      : function_(function),
        instructions_(*function.getSubtarget().getInstrInfo()),
        registers_(*function.getSubtarget().getRegisterInfo()),
        savable_(function),
        no_yield_(function),
        codes_(encodings_of()) {
    const llvm::TargetMachine& target = function.getTarget();
    indirect_ = access_wanted == tls_access::initial_exec ||
                (access_wanted == tls_access::automatic && target.getRelocationModel() == llvm::Reloc::PIC_ &&
                 function.getFunction().getParent()->getPIELevel() == llvm::PIELevel::Default);
  }

  bool run();

private:
  using blocks = std::vector<MachineBasicBlock*>;

  const encodings& encodings_of() const {
    static const encodings only(instructions_, registers_);
    return only;
  }

  // Finding places.
  std::optional<gap> best_in(MachineBasicBlock& block, placement by, bool before_calls);
  void choose_entry();
  void cover(const blocks& loop);
  std::vector<blocks> cycles_among(const blocks& among) const;
  blocks without_checked(const blocks& all, const MachineBasicBlock* but = nullptr) const;
  const std::optional<gap>& place_in(MachineBasicBlock& block);

  // Emitting.
  void emit(MachineBasicBlock& block, const gap& place);
  MachineBasicBlock& emit_cold(const gap& place, const llvm::DebugLoc& line);
  void move_stack_pointer(MachineBasicBlock& block, MachineBasicBlock::iterator at, int by);
  void say_pushed(MachineBasicBlock& block, MachineBasicBlock::iterator at, int bytes);
  bool has_red_zone() const {
    return !function_.getFrameInfo().adjustsStack() &&
           !function_.getFunction().hasFnAttribute(llvm::Attribute::NoRedZone);
  }

  MachineFunction& function_;
  const llvm::TargetInstrInfo& instructions_;
  const llvm::TargetRegisterInfo& registers_;
  const savable_registers savable_;
  const no_yield_depth no_yield_;
  const encodings& codes_;
  bool indirect_;  // the flag's offset is loaded from the global offset table
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
    gap here{at, *saved, live.contains(static_cast<llvm::MCPhysReg>(codes_.flags)),
             savable_registers::spare(*saved), 0};
    here.rank = static_cast<int>(saved->count());
    if (by == placement::max)
      here.rank = 64 - here.rank;
    if (here.flags_live || (indirect_ && here.spare == nullptr))
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

// ---- Emitting.

void function_polls::say_pushed(MachineBasicBlock& block, MachineBasicBlock::iterator at, int bytes) {
  if (!function_.needsFrameMoves() || function_.getSubtarget().getFrameLowering()->hasFP(function_))
    return;
  const unsigned index =
      function_.addFrameInst(llvm::MCCFIInstruction::createAdjustCfaOffset(nullptr, bytes));
  llvm::BuildMI(block, at, {}, instructions_.get(llvm::TargetOpcode::CFI_INSTRUCTION)).addCFIIndex(index);
}

// Not by an addition: the flags stay.
void function_polls::move_stack_pointer(MachineBasicBlock& block, MachineBasicBlock::iterator at, int by) {
  llvm::BuildMI(block, at, {}, instructions_.get(codes_.load_address), codes_.stack_pointer)
      .addReg(codes_.stack_pointer)
      .addImm(1)
      .addReg(0)
      .addImm(by)
      .addReg(0);
  say_pushed(block, at, -by);
}

constexpr int red_zone = 128;

// Calls the stub; the first who does has it defined.
MachineBasicBlock& function_polls::emit_cold(const gap& place, const llvm::DebugLoc& line) {
  MachineBasicBlock& cold = *function_.CreateMachineBasicBlock();
  function_.push_back(&cold);
  std::string text;
  for (const char each : stub_text(place.saved))
    text += each == '$' ? "$$" : std::string(1, each);
  llvm::BuildMI(cold, cold.end(), {}, instructions_.get(llvm::TargetOpcode::INLINEASM))
      .addExternalSymbol(function_.createExternalSymbolName(text))
      .addImm(llvm::InlineAsm::Extra_HasSideEffects);
  // One that has saved flags has stepped over the red zone already.
  const bool steps = has_red_zone() && place.rank < on_the_stack;
  if (steps)
    move_stack_pointer(cold, cold.end(), -red_zone);
  llvm::BuildMI(cold, cold.end(), line, instructions_.get(codes_.call))
      .addExternalSymbol(function_.createExternalSymbolName(place.saved.name()));
  if (steps)
    move_stack_pointer(cold, cold.end(), red_zone);
  return cold;
}

void function_polls::emit(MachineBasicBlock& block, const gap& place) {
  const llvm::DebugLoc line = block.findDebugLoc(place.at);
  MachineBasicBlock& rest = *function_.CreateMachineBasicBlock(block.getBasicBlock());
  function_.insert(std::next(block.getIterator()), &rest);
  rest.splice(rest.end(), &block, place.at, block.end());
  rest.transferSuccessors(&block);
  const bool framed = place.rank >= on_the_stack;
  const bool keep_scratch = framed && indirect_;
  unsigned scratch = 0;
  if (indirect_)
    scratch = encodings::register_of(registers_, keep_scratch ? "RAX" : place.spare);

  const auto add = [&](MachineBasicBlock& to, MachineBasicBlock::iterator at, unsigned opcode) {
    return llvm::BuildMI(to, at, line, instructions_.get(opcode));
  };
  const auto end = block.end();
  if (framed) {
    move_stack_pointer(block, end, -red_zone);
    if (place.flags_live) {
      const auto flags = add(block, end, codes_.push_flags);
      for (llvm::MachineOperand& each : flags->implicit_operands())
        if (each.isUse() && each.getReg() != codes_.stack_pointer && each.getReg() != codes_.flags)
          each.setIsUndef();  // the direction flag
      say_pushed(block, end, 8);
    }
    if (keep_scratch) {
      add(block, end, codes_.push).addReg(scratch, llvm::RegState::Undef);
      say_pushed(block, end, 8);
    }
    auto begin = rest.begin();
    if (keep_scratch) {
      add(rest, begin, codes_.pop).addReg(scratch, llvm::RegState::Define);
      say_pushed(rest, begin, -8);
    }
    if (place.flags_live) {
      add(rest, begin, codes_.pop_flags);
      say_pushed(rest, begin, -8);
    }
    move_stack_pointer(rest, begin, red_zone);
  }
  if (indirect_)
    add(block, end, codes_.load)
        .addReg(scratch, llvm::RegState::Define)
        .addReg(codes_.instruction_pointer)
        .addImm(1)
        .addReg(0)
        .addExternalSymbol(flag, codes_.thread_offset_entry)
        .addReg(0);
  const auto check = add(block, end, codes_.compare).addReg(scratch).addImm(1).addReg(0);
  if (indirect_)
    check.addImm(0);
  else
    check.addExternalSymbol(flag, codes_.thread_offset);
  check.addReg(codes_.thread).addImm(0);

  MachineBasicBlock& cold = emit_cold(place, line);
  constexpr int not_equal = 5;
  instructions_.insertBranch(block, &cold, nullptr, llvm::MachineOperand::CreateImm(not_equal), line);
  instructions_.insertBranch(cold, &rest, nullptr, {}, line);
  block.addSuccessor(&rest, llvm::BranchProbability(1023, 1024));
  block.addSuccessor(&cold, llvm::BranchProbability(1, 1024));
  cold.addSuccessor(&rest, llvm::BranchProbability::getOne());
  for (MachineBasicBlock* each : {&rest, &cold}) {
    llvm::LivePhysRegs live;
    llvm::computeAndAddLiveIns(live, *each);
    each->sortUniqueLiveIns();
  }
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
      emit(*block, place->second);
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
