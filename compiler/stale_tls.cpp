#include "stale_tls.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "append_line.hpp"
#include "asm_marks.hpp"
#include "fiber_tls.hpp"
#include "machine_pass.hpp"
#include "recursion.hpp"

namespace sennit::compiler {

namespace {

using namespace llvm;

cl::opt<std::string> file(
    "sennit-tls-report", cl::value_desc("file"),
    cl::desc("Add to a file which thread-local addresses are kept across a switch (Sennit)"));

// ---- The places where the source asks for a thread's values.

// Units of one process may be compiled on several threads.
std::mutex guard;
StringSet<> asked_for;

std::string key(const DILocation& at, StringRef name) {
  return (at.getDirectory() + "/" + at.getFilename() + ":" + Twine(at.getLine()) + ":" + name).str();
}

// The variable that a wrapper function of C++ returns a reference to; else empty.
std::string wrapped(StringRef function) {
  if (!function.consume_front("_ZTW"))
    return "";
  return (function.starts_with("N") ? "_Z" + function : Twine(function.ltrim("0123456789"))).str();
}

// What of the thread `instruction` asks for; else empty.
std::string asks_for(const Instruction& instruction) {
  if (const auto* call = dyn_cast<CallBase>(&instruction))
    if (const Function* callee = call->getCalledFunction()) {
      if (is_of_thread(callee->getName()))
        return callee->getName().str();
      if (std::string variable = wrapped(callee->getName()); !variable.empty())
        return variable;
    }
  for (const Value* each : instruction.operands())
    if (const auto* variable = dyn_cast<GlobalValue>(each->stripInBoundsOffsets());
        variable != nullptr && variable->isThreadLocal())
      return variable->getName().str();
  return "";
}

class find_askers : public PassInfoMixin<find_askers> {
public:
  static bool isRequired() { return true; }

  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    if (module.debug_compile_units().empty()) {
      module.getContext().emitError("-sennit-tls-report tells lines: compile with -g or -gline-tables-only");
      return PreservedAnalyses::all();
    }
    const std::lock_guard locked(guard);
    for (Function& function : module)
      for (Instruction& each : instructions(function))
        if (const std::string name = asks_for(each); !name.empty()) {
          add(each, name);
          // The address may be wanted in another line of the same expression.
          for (const User* user : each.users())
            if (const auto* instruction = dyn_cast<Instruction>(user))
              add(*instruction, name);
        }
    return PreservedAnalyses::all();
  }

private:
  static void add(const Instruction& instruction, StringRef name) {
    if (const DILocation* at = instruction.getDebugLoc()) {
      asked_for.insert(key(*at, name));
      asked_for.insert(key(*at, ""));
    }
  }
};

// ---- What may switch.

class switches {
public:
  explicit switches(const TargetLibraryInfo& libc) : libc_(libc) {}

  bool may_happen_in(const Function& function) {
    const auto [known, is_new] = known_.try_emplace(&function, false);  // while it is looked at, too
    if (!is_new)
      return known->second;
    const bool may = looks_as_if(function);
    return known_[&function] = may;
  }

private:
  bool looks_as_if(const Function& function) {
    LibFunc known;
    // What is called as only the implementation may name it is libc's, too.
    if (function.isIntrinsic() || function.getName().starts_with("__") || is_of_thread(function.getName()) ||
        !variable_read_by(function).empty() || libc_.getLibFunc(function, known))
      return false;
    return function.isDeclaration() || function.isInterposable() ||
           any_of(instructions(function), [&](const Instruction& each) {
             const auto* call = dyn_cast<CallBase>(&each);
             if (call == nullptr)
               return false;
             if (call->isInlineAsm())
               return is_switch(each);
             return call->getCalledFunction() == nullptr || may_happen_in(*call->getCalledFunction());
           });
  }

  const TargetLibraryInfo& libc_;
  DenseMap<const Function*, bool> known_;
};

// ---- What machine code keeps.

enum class age { unknown, offset, fresh, stale };  // offset: of a variable, from any thread's pointer

constexpr std::size_t most_calls = 4;  // that are named

struct kept {
  age is = age::unknown;
  StringRef name{};                            // empty: the thread pointer
  SmallVector<const MachineInstr*, 2> over{};  // which calls, and one more if there are more
};

void add_call(kept& to, const MachineInstr* call) {
  if (to.over.size() <= most_calls && !is_contained(to.over, call))
    to.over.push_back(call);
}

kept either(const kept& one, const kept& other) {
  kept both = one.is < other.is ? other : one;
  if (both.name.empty())
    both.name = one.name.empty() ? other.name : one.name;
  for (const MachineInstr* each : one.is < other.is ? one.over : other.over)
    add_call(both, each);
  return both;
}

// By register unit; stack slots by ~index.
using holders = std::map<int, kept>;

class followed {
public:
  followed(const MachineFunction& function, const TargetLibraryInfo& libc)
      : function_(function),
        frame_(function.getFrameInfo()),
        instructions_(*function.getSubtarget().getInstrInfo()),
        registers_(*function.getSubtarget().getRegisterInfo()),
        switches_(libc) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const MachineBasicBlock& block : function)
        changed |= follow(block);
    }
  }

  // A line for each place, in their order.
  std::string findings() {
    std::map<std::pair<unsigned, std::string>, kept> found;
    for (const MachineBasicBlock& block : function_) {
      holders held = at_begin_[&block];
      for (const MachineInstr& each : block) {
        if (const auto [place, what] = finding(each, held); what.is == age::stale)
          found[place] = either(found[place], what);
        step(each, held);
      }
    }
    std::string lines;
    for (const auto& [place, what] : found)
      lines += place.second + " is from before " + shown_calls(what.over) + "\n";
    return lines;
  }

private:
  bool follow(const MachineBasicBlock& block) {
    holders held = at_begin_[&block];
    for (const MachineInstr& each : block)
      step(each, held);
    bool changed = false;
    for (const MachineBasicBlock* next : block.successors())
      for (const auto& [where, what] : held) {
        kept& there = at_begin_[next][where];
        const kept joined = either(there, what);
        changed |= joined.is != there.is || joined.over.size() != there.over.size();
        there = joined;
      }
    return changed;
  }

  // The variable, or libc's function, that the instruction names.
  static StringRef named_by(const MachineInstr& instruction) {
    for (const MachineOperand& each : instruction.operands())
      if (each.isGlobal() && (each.getGlobal()->isThreadLocal() || is_of_thread(each.getGlobal()->getName())))
        return each.getGlobal()->getName();
      else if (each.isGlobal() && isa<Function>(each.getGlobal()))
        return variable_read_by(*cast<Function>(each.getGlobal()));
      else if (each.isSymbol() && is_of_thread(each.getSymbolName()))
        return each.getSymbolName();
    return "";
  }

  bool reads_thread_pointer(const MachineInstr& instruction) const {
    if (instruction.isInlineAsm())
      return assembly_of(instruction).contains("%fs:0");
    const StringRef opcode = instructions_.getName(instruction.getOpcode());
    if (opcode == "MRS")
      return instruction.getOperand(1).getImm() == 0xde82;  // tpidr_el0
    if (opcode.starts_with("TLS_") || opcode.starts_with("TLSDESC_"))
      return true;  // as calls are: of __tls_get_addr, of a descriptor's function
    for (unsigned i = 4; i < instruction.getNumOperands(); ++i) {
      const MachineOperand& segment = instruction.getOperand(i);
      if (segment.isReg() && segment.getReg().isPhysical() &&
          StringRef(registers_.getName(segment.getReg())) == "FS") {
        const MachineOperand* address = &instruction.getOperand(i - 4);
        return !address[0].getReg() && !address[2].getReg() && address[3].isImm() && address[3].getImm() == 0;
      }
    }
    return false;
  }

  kept used(const MachineInstr& instruction, const holders& held) const {
    kept all;
    for (const MachineOperand& each : instruction.operands())
      if (each.isReg() && each.readsReg() && each.getReg().isPhysical())
        for (const MCRegUnit unit : registers_.regunits(each.getReg()))
          if (const auto found = held.find(static_cast<int>(unit)); found != held.end())
            all = either(all, found->second);
    return all;
  }

  bool may_switch(const MachineInstr& instruction) {
    if (instruction.isInlineAsm())
      return is_switch(instruction);
    if (!instruction.isCall() || reads_thread_pointer(instruction))
      return false;
    if (const Function* callee = callee_of(instruction))
      return switches_.may_happen_in(*callee);
    // What the code generator calls by a name is libc's or the compiler's.
    return none_of(instruction.operands(), [](const MachineOperand& each) { return each.isSymbol(); });
  }

  void step(const MachineInstr& instruction, holders& held) {
    if (instruction.isMetaInstruction())
      return;
    int slot = 0;
    if (instructions_.isStoreToStackSlotPostFE(instruction, slot) && is_spill(slot)) {
      held[~slot] = used(instruction, held);
      return;
    }
    const kept result = result_of(instruction, held);
    for (auto each = held.begin(); each != held.end();)
      each = overwrites(instruction, each->first) ? held.erase(each) : std::next(each);
    if (may_switch(instruction))
      for (auto& [where, what] : held)
        if (what.is >= age::fresh) {
          what.is = age::stale;
          add_call(what, &instruction);
        }
    if (result.is != age::unknown)
      for (const MachineOperand& each : instruction.operands())
        if (each.isReg() && each.isDef() && !each.isDead() && each.getReg().isPhysical())
          for (const MCRegUnit unit : registers_.regunits(each.getReg()))
            held[static_cast<int>(unit)] = result;
  }

  kept result_of(const MachineInstr& instruction, const holders& held) const {
    const StringRef name = named_by(instruction);
    const kept from = instruction.isCall() || instruction.isInlineAsm() ? kept{} : used(instruction, held);
    if (reads_thread_pointer(instruction) || (instruction.isCall() && !name.empty()))
      return {age::fresh, name.empty() ? from.name : name};
    int slot = 0;
    if (instructions_.isLoadFromStackSlotPostFE(instruction, slot)) {
      const auto found = held.find(~slot);
      return found != held.end() ? found->second : kept{};
    }
    if (instruction.mayLoad())
      return {name.empty() ? age::unknown : age::offset, name};
    return {from.is, name.empty() ? from.name : name, from.over};
  }

  bool is_spill(int slot) const { return slot >= 0 && frame_.isSpillSlotObjectIndex(slot); }

  bool overwrites(const MachineInstr& instruction, int where) const {
    if (where < 0)
      return false;
    const auto unit = static_cast<MCRegUnit>(where);
    return any_of(instruction.operands(), [&](const MachineOperand& each) {
      if (each.isRegMask())
        return each.clobbersPhysReg(*MCRegUnitRootIterator(unit, &registers_));
      return each.isReg() && each.isDef() && each.getReg().isPhysical() &&
             is_contained(registers_.regunits(each.getReg()), unit);
    });
  }

  // The stale value there, with the line and the text of the report.
  std::pair<std::pair<unsigned, std::string>, kept> finding(const MachineInstr& instruction,
                                                            const holders& held) const {
    const DILocation* at = instruction.getDebugLoc();
    const kept what = instruction.isMetaInstruction() ? kept{} : used(instruction, held);
    const StringRef named = named_by(instruction);
    int slot = 0;
    if (what.is != age::stale || at == nullptr || instructions_.isStoreToStackSlotPostFE(instruction, slot) ||
        !(instruction.mayLoadOrStore() || instruction.isCall() || instruction.isReturn() || !named.empty()))
      return {};
    const StringRef name = named.empty() || instruction.isCall() ? what.name : named;
    {
      const std::lock_guard locked(guard);
      if (!asked_for.contains(key(*at, name)))
        return {};
    }
    const DILocation* shown = at;
    while (shown->getLine() == 0 && shown->getInlinedAt() != nullptr)  // of what the compiler made
      shown = shown->getInlinedAt();
    const unsigned line = shown->getLine();
    return {{line, (shown->getFilename() + ":" + Twine(line) + ": " + demangle(function_.getName()) + ": " +
                    shown_name(name))
                       .str()},
            what};
  }

  static std::string shown_name(StringRef name) {
    if (name.empty())
      return "the thread pointer";
    if (name == "__errno_location")
      return "the address of errno";
    if (name == "__tls_guard")
      return "whether this thread's variables have been initialized";
    return is_of_thread(name) ? (name + "()").str() : "the address of " + demangle(name);
  }

  static std::string shown_calls(ArrayRef<const MachineInstr*> calls) {
    std::set<std::pair<unsigned, std::string>> shown;
    for (const MachineInstr* each : calls.take_front(most_calls)) {
      const Function* callee = callee_of(*each);
      const DILocation* at = each->getDebugLoc();
      while (at != nullptr && at->getInlinedAt() != nullptr)
        at = at->getInlinedAt();
      const unsigned line = at != nullptr ? at->getLine() : 0;
      shown.emplace(line, each->isInlineAsm() ? "a switch"
                          : callee != nullptr ? demangle(callee->getName())
                                              : "a pointer");
    }
    std::string text;
    for (const auto& [line, callee] : shown)
      text += (text.empty() ? "" : ", ") + callee + (line != 0 ? " at line " + std::to_string(line) : "");
    return text + (calls.size() > most_calls ? " and others" : "");
  }

  const MachineFunction& function_;
  const MachineFrameInfo& frame_;
  const TargetInstrInfo& instructions_;
  const TargetRegisterInfo& registers_;
  switches switches_;
  DenseMap<const MachineBasicBlock*, holders> at_begin_;
};

class tls_report final : public machine_pass {
public:
  static char ID;
  static constexpr char argument[] = "sennit-report-tls";
  tls_report() : machine_pass(ID, "Sennit: thread-local addresses kept across a switch") {}

  void getAnalysisUsage(AnalysisUsage& usage) const override {
    machine_pass::getAnalysisUsage(usage);
    usage.addRequired<TargetLibraryInfoWrapperPass>();
    usage.setPreservesAll();
  }

  bool runOnMachineFunction(MachineFunction& function) override {
    const TargetLibraryInfo& libc =
        getAnalysis<TargetLibraryInfoWrapperPass>().getTLI(function.getFunction());
    if (const std::string lines = followed(function, libc).findings(); !lines.empty())
      append_line(function.getFunction().getContext(), file, lines);
    return false;
  }
};
char tls_report::ID = 0;

}  // namespace

void add_tls_report(PassBuilder& builder) {
  if (file.empty())
    return;
  builder.registerPipelineStartEPCallback(
      [](ModulePassManager& passes, OptimizationLevel) { passes.addPass(find_askers()); });
  add_machine_pass<tls_report>();
}

}  // namespace sennit::compiler
