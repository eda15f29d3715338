#include "poll_code.hpp"

#include <llvm/ADT/StringRef.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetFrameLowering.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCDwarf.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "polls_at_link.hpp"

namespace sennit::compiler {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;
using llvm::StringRef;

namespace {

enum class tls_access : std::uint8_t { automatic, local_exec, initial_exec };
link_option<tls_access> access_wanted(
    "sennit-polls-tls", llvm::cl::init(tls_access::automatic), llvm::cl::desc("How a check finds its flag"),
    llvm::cl::values(clEnumValN(tls_access::automatic, "auto", "local-exec, but in code for shared objects"),
                     clEnumValN(tls_access::local_exec, "local-exec",
                                "for executables with a static libsennit"),
                     clEnumValN(tls_access::initial_exec, "initial-exec", "for any")));

enum class saves : std::uint8_t { live, all };
link_option<saves> saves_wanted(
    "sennit-polls-save", llvm::cl::init(saves::live), llvm::cl::desc("What a check's stub saves"),
    llvm::cl::values(clEnumValN(saves::live, "live", "what is live there"),
                     clEnumValN(saves::all, "all", "all that a call does not keep, to compare with")));

}  // namespace

// By names, once: the target's own header is none of those that are installed.
struct poll_code::encodings {
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

const poll_code::encodings& poll_code::encodings_of(const MachineFunction& function) {
  static const encodings only(*function.getSubtarget().getInstrInfo(),
                              *function.getSubtarget().getRegisterInfo());
  return only;
}

poll_code::poll_code(MachineFunction& function)
    : function_(function),
      instructions_(*function.getSubtarget().getInstrInfo()),
      registers_(*function.getSubtarget().getRegisterInfo()),
      codes_(encodings_of(function)),
      indirect_(access_wanted == tls_access::initial_exec ||
                (access_wanted == tls_access::automatic &&
                 function.getTarget().getRelocationModel() == llvm::Reloc::PIC_ &&
                 function.getFunction().getParent()->getPIELevel() == llvm::PIELevel::Default)) {
  if (saves_wanted == saves::all)
    all_ = savable_registers(function).all();
}

bool poll_code::reads_flags(const llvm::LivePhysRegs& live) const {
  return live.contains(static_cast<llvm::MCPhysReg>(codes_.flags));
}

bool poll_code::has_red_zone() const {
  return !function_.getFrameInfo().adjustsStack() &&
         !function_.getFunction().hasFnAttribute(llvm::Attribute::NoRedZone);
}

void poll_code::say_pushed(MachineBasicBlock& block, MachineBasicBlock::iterator at, int bytes) {
  if (!function_.needsFrameMoves() || function_.getSubtarget().getFrameLowering()->hasFP(function_))
    return;
  const unsigned index =
      function_.addFrameInst(llvm::MCCFIInstruction::createAdjustCfaOffset(nullptr, bytes));
  llvm::BuildMI(block, at, {}, instructions_.get(llvm::TargetOpcode::CFI_INSTRUCTION)).addCFIIndex(index);
}

// Not by an addition: the flags stay.
void poll_code::move_stack_pointer(MachineBasicBlock& block, MachineBasicBlock::iterator at, int by) {
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
MachineBasicBlock& poll_code::emit_cold(const gap& place, const llvm::DebugLoc& line) {
  MachineBasicBlock& cold = *function_.CreateMachineBasicBlock();
  function_.push_back(&cold);
  const save_set& saved = all_ ? *all_ : place.saved;
  std::string text;
  for (const char each : stub_text(saved))
    text += each == '$' ? "$$" : std::string(1, each);
  llvm::BuildMI(cold, cold.end(), {}, instructions_.get(llvm::TargetOpcode::INLINEASM))
      .addExternalSymbol(function_.createExternalSymbolName(text))
      .addImm(llvm::InlineAsm::Extra_HasSideEffects);
  // One that has saved flags has stepped over the red zone already.
  const bool steps = has_red_zone() && place.rank < on_the_stack;
  if (steps)
    move_stack_pointer(cold, cold.end(), -red_zone);
  llvm::BuildMI(cold, cold.end(), line, instructions_.get(codes_.call))
      .addExternalSymbol(function_.createExternalSymbolName(saved.name()));
  if (steps)
    move_stack_pointer(cold, cold.end(), red_zone);
  return cold;
}

void poll_code::emit(MachineBasicBlock& block, const gap& place) {
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
        .addExternalSymbol(poll_flag, codes_.thread_offset_entry)
        .addReg(0);
  const auto check = add(block, end, codes_.compare).addReg(scratch).addImm(1).addReg(0);
  if (indirect_)
    check.addImm(0);
  else
    check.addExternalSymbol(poll_flag, codes_.thread_offset);
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

}  // namespace sennit::compiler
