#include "block_trace.hpp"

#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/JSON.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "append_line.hpp"
#include "machine_pass.hpp"
#include "widest_registers.hpp"

namespace sennit::compiler {

namespace {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;

llvm::cl::opt<std::string> file(
    "sennit-block-trace", llvm::cl::value_desc("file"),
    llvm::cl::desc("Make the program call sennit_part_begins where a part of a block "
                   "begins, and add a description of each to a file"));

bool ends_part(const MachineInstr& each) {
  return each.isCall() && !each.isTerminator();
}

// The functions of the target that it calls may change these.
bool is_scratch(const llvm::MachineFunction& function, llvm::MCPhysReg which) {
  const llvm::MCPhysReg* kept = function.getRegInfo().getCalleeSavedRegs();
  for (; *kept != 0; ++kept)
    if (function.getSubtarget().getRegisterInfo()->regsOverlap(*kept, which))
      return false;
  return true;
}

class traced {
public:
  explicit traced(llvm::MachineFunction& function)
      : function_(function),
        target_(*function.getSubtarget().getRegisterInfo()),
        instructions_(*function.getSubtarget().getInstrInfo()),
        registers_(widest_registers(function)) {}

  // The lines of a block's parts, and the calls at their beginnings.
  void add(MachineBasicBlock& block, unsigned& next_part, llvm::raw_ostream& out) {
    // Backwards, as liveness is known.
    llvm::SmallVector<at_place, 32> places;
    llvm::LivePhysRegs live(target_);
    live.addLiveOutsNoPristines(block);
    for (MachineInstr& each : llvm::reverse(block)) {
      live.stepBackward(each);
      if (!each.isMetaInstruction())
        places.push_back({&each, count(live, false), count(live, true)});
    }
    std::reverse(places.begin(), places.end());
    bool begins_block = true;
    for (std::size_t i = 0; i < places.size(); begins_block = false) {
      llvm::json::Array scratch, operations;
      const at_place& first = places[i];
      const unsigned part = next_part++;
      do {
        scratch.push_back(places[i].scratch);
        operations.push_back(operation(*places[i].instruction));
      } while (!ends_part(*places[i++].instruction) && i < places.size());
      out << llvm::json::Object{{"part", part},
                                {"block", begins_block},
                                {"live", first.live},
                                {"scratch", std::move(scratch)},
                                {"operations", std::move(operations)}}
          << '\n';
      call_trace(block, *first.instruction, part);
    }
  }

private:
  struct at_place {
    MachineInstr* instruction;
    unsigned live, scratch;  // before it
  };

  unsigned count(const llvm::LivePhysRegs& live, bool only_scratch) const {
    return static_cast<unsigned>(llvm::count_if(registers_, [&](llvm::MCPhysReg each) {
      return !live.available(function_.getRegInfo(), each) && (!only_scratch || is_scratch(function_, each));
    }));
  }

  // The name of a register as a whole; empty: nothing that a model needs.
  llvm::StringRef name_of(llvm::Register which) const {
    for (const llvm::MCPhysReg each : registers_)
      if (target_.regsOverlap(each, which))
        return target_.getName(each);
    const llvm::StringRef name = target_.getName(which.asMCReg());
    return name == "EFLAGS" || name == "RSP" ? name : "";
  }

  llvm::json::Array operation(const MachineInstr& of) const {
    const llvm::StringRef name = instructions_.getName(of.getOpcode());
    const bool jumps = of.isCall() || of.isTerminator();
    const char* const unit = of.isCall()                                                         ? "call"
                             : jumps                                                             ? "jump"
                             : name.starts_with("MUL") || name.starts_with("IMUL")               ? "mul"
                             : of.isMoveReg() || of.isMoveImmediate() || name.starts_with("MOV") ? "move"
                             : name.starts_with("PUSH") || name.starts_with("POP")               ? "move"
                                                                                                 : "alu";
    llvm::json::Array writes, reads;
    if (!of.isCall() && !of.isReturn())
      for (const llvm::MachineOperand& each : of.operands())
        if (each.isReg() && each.getReg().isPhysical() && !each.isUndef() && !(each.isDef() && each.isDead()))
          if (const llvm::StringRef register_name = name_of(each.getReg()); !register_name.empty())
            if (llvm::json::Array& all = each.isDef() ? writes : reads;
                !llvm::is_contained(all, llvm::json::Value(register_name)))
              all.push_back(register_name);
    return llvm::json::Array{unit, static_cast<int>(of.mayLoad() && !jumps),
                             static_cast<int>(of.mayStore() && !jumps), std::move(writes), std::move(reads)};
  }

  void call_trace(MachineBasicBlock& block, MachineInstr& before, unsigned part) const {
    const std::string text = "pushfq; pushq %rdi; movl $$" + std::to_string(part) +
                             ", %edi; callq sennit_part_begins; popq %rdi; popfq";
    llvm::BuildMI(block, before, {}, instructions_.get(llvm::TargetOpcode::INLINEASM))
        .addExternalSymbol(function_.createExternalSymbolName(text))
        .addImm(llvm::InlineAsm::Extra_HasSideEffects);
  }

  llvm::MachineFunction& function_;
  const llvm::TargetRegisterInfo& target_;
  const llvm::TargetInstrInfo& instructions_;
  const llvm::SmallVector<llvm::MCPhysReg, 64> registers_;
};

class block_trace final : public machine_pass {
public:
  static char ID;
  static constexpr char argument[] = "sennit-trace-blocks";
  block_trace() : machine_pass(ID, "Sennit: a program that writes which blocks it executes") {}
  bool runOnMachineFunction(llvm::MachineFunction& function) override;

private:
  unsigned next_part_ = 0;
};
char block_trace::ID = 0;

bool block_trace::runOnMachineFunction(llvm::MachineFunction& function) {
  if (function.getTarget().getTargetTriple().getArch() != llvm::Triple::x86_64) {
    function.getFunction().getContext().emitError("-sennit-block-trace is for x86-64 only");
    return false;
  }
  if (!function.getFunction().hasFnAttribute(llvm::Attribute::NoRedZone)) {
    function.getFunction().getContext().emitError("-sennit-block-trace wants -mno-red-zone");
    return false;
  }
  traced all(function);
  std::string lines;
  llvm::raw_string_ostream text(lines);
  for (MachineBasicBlock& block : function)
    all.add(block, next_part_, text);
  append_line(function.getFunction().getContext(), file, lines);
  return true;
}

}  // namespace

void add_block_trace() {
  if (!file.empty())
    add_machine_pass<block_trace>();
}

}  // namespace sennit::compiler
