// A check on x86-64 (polls.hpp draws it).
#include <llvm/ADT/StringExtras.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetFrameLowering.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/MC/MCDwarf.h>

#include <string>

#include "poll_code.hpp"
#include "save_set_x86_64.hpp"
#include "target_names.hpp"

namespace sennit::compiler {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;

namespace {

struct encodings {
  unsigned compare, load_address, load, call, push, pop, push_flags, pop_flags;
  unsigned thread_offset, thread_offset_entry;  // relocations
  llvm::MCRegister stack_pointer, thread, flags, instruction_pointer;

  encodings(const llvm::TargetInstrInfo& instructions, const llvm::TargetRegisterInfo& registers)
      : compare(opcode_named(instructions, "CMP8mi")),
        load_address(opcode_named(instructions, "LEA64r")),
        load(opcode_named(instructions, "MOV64rm")),
        call(opcode_named(instructions, "CALL64pcrel32")),
        push(opcode_named(instructions, "PUSH64r")),
        pop(opcode_named(instructions, "POP64r")),
        push_flags(opcode_named(instructions, "PUSHF64")),
        pop_flags(opcode_named(instructions, "POPF64")),
        thread_offset(operand_flag_named(instructions, "x86-tpoff")),
        thread_offset_entry(operand_flag_named(instructions, "x86-gottpoff")),
        stack_pointer(register_named(registers, "RSP")),
        thread(register_named(registers, "FS")),
        flags(register_named(registers, "EFLAGS")),
        instruction_pointer(register_named(registers, "RIP")) {}
};

constexpr int red_zone = 128;

class poll_code_x86_64 final : public poll_code {
public:
  explicit poll_code_x86_64(MachineFunction& function)
      : poll_code(function), savable_(function), codes_(encodings_of<encodings>(function)) {}

  std::optional<gap> gap_at(MachineBasicBlock::iterator at, const llvm::LivePhysRegs& live) const override;

private:
  void emit_check(MachineBasicBlock& block, MachineBasicBlock& rest, MachineBasicBlock& cold,
                  const gap& place, const llvm::DebugLoc& line) override;
  void emit_call(MachineBasicBlock& cold, const char* stub, const gap& place,
                 const llvm::DebugLoc& line) override;
  save_set all() const override { return savable_.all(); }
  stub stub_of(const save_set& saved) const override { return savable_registers_x86_64::stub_of(saved); }

  void emit_load(MachineBasicBlock& block, MachineBasicBlock& cold, llvm::MCRegister scratch,
                 const llvm::DebugLoc& line);
  void push_flags(MachineBasicBlock& block, MachineBasicBlock::iterator at, const llvm::DebugLoc& line);
  void pop_flags(MachineBasicBlock& block, MachineBasicBlock::iterator at, const llvm::DebugLoc& line);
  void move_stack_pointer(MachineBasicBlock& block, MachineBasicBlock::iterator at, int by);
  void describe_pushed(MachineBasicBlock& block, MachineBasicBlock::iterator at, int bytes);
  bool has_red_zone() const;
  bool writes_register() const { return indirect_ || polls_by_page(); }
  // A stub writes them in any case.
  static bool writes_flags(const gap& place) { return place.flags_live && !polls_by_page(); }

  const savable_registers_x86_64 savable_;
  const encodings& codes_;
};

std::optional<gap> poll_code_x86_64::gap_at(MachineBasicBlock::iterator at,
                                            const llvm::LivePhysRegs& live) const {
  const std::optional<save_set> saved = savable_.of(live);
  if (!saved)
    return std::nullopt;
  gap here{.at = at,
           .saved = *saved,
           .flags_live = live.contains(static_cast<llvm::MCPhysReg>(codes_.flags.id()))};
  here.on_stack =
      writes_flags(here) || (writes_register() && savable_registers_x86_64::spare(*saved) == nullptr);
  here.parts_compare = here.flags_live && !here.on_stack;
  here.rank = static_cast<int>(saved->count());
  return here;
}

bool poll_code_x86_64::has_red_zone() const {
  return !function_.getFrameInfo().adjustsStack() &&
         !function_.getFunction().hasFnAttribute(llvm::Attribute::NoRedZone);
}

void poll_code_x86_64::describe_pushed(MachineBasicBlock& block, MachineBasicBlock::iterator at, int bytes) {
  if (!function_.getSubtarget().getFrameLowering()->hasFP(function_))
    add_rule(block, at, llvm::MCCFIInstruction::createAdjustCfaOffset(nullptr, bytes));
}

void poll_code_x86_64::push_flags(MachineBasicBlock& block, MachineBasicBlock::iterator at,
                                  const llvm::DebugLoc& line) {
  const auto flags = llvm::BuildMI(block, at, line, instructions_.get(codes_.push_flags));
  for (llvm::MachineOperand& each : flags->implicit_operands())
    if (each.isUse() && each.getReg() != codes_.stack_pointer && each.getReg() != codes_.flags)
      each.setIsUndef();  // the direction flag
  describe_pushed(block, at, 8);
}

void poll_code_x86_64::pop_flags(MachineBasicBlock& block, MachineBasicBlock::iterator at,
                                 const llvm::DebugLoc& line) {
  llvm::BuildMI(block, at, line, instructions_.get(codes_.pop_flags));
  describe_pushed(block, at, -8);
}

// Not by an addition: the flags stay.
void poll_code_x86_64::move_stack_pointer(MachineBasicBlock& block, MachineBasicBlock::iterator at, int by) {
  llvm::BuildMI(block, at, {}, instructions_.get(codes_.load_address), codes_.stack_pointer)
      .addReg(codes_.stack_pointer)
      .addImm(1)
      .addReg(0)
      .addImm(by)
      .addReg(0);
  describe_pushed(block, at, -by);
}

void poll_code_x86_64::emit_call(MachineBasicBlock& cold, const char* stub, const gap& place,
                                 const llvm::DebugLoc& line) {
  // One that has saved something for the check has stepped over the red zone already.
  const bool steps = has_red_zone() && !place.on_stack;
  const bool keeps_flags = place.flags_live && !writes_flags(place);
  if (steps)
    move_stack_pointer(cold, cold.end(), -red_zone);
  if (keeps_flags)
    push_flags(cold, cold.end(), line);
  llvm::BuildMI(cold, cold.end(), line, instructions_.get(codes_.call)).addExternalSymbol(stub);
  if (keeps_flags)
    pop_flags(cold, cold.end(), line);
  if (steps)
    move_stack_pointer(cold, cold.end(), red_zone);
}

void poll_code_x86_64::emit_check(MachineBasicBlock& block, MachineBasicBlock& rest, MachineBasicBlock& cold,
                                  const gap& place, const llvm::DebugLoc& line) {
  const bool keep_scratch = place.on_stack && writes_register();
  llvm::MCRegister scratch;
  if (writes_register())
    scratch = register_named(registers_, keep_scratch ? "RAX" : savable_registers_x86_64::spare(place.saved));

  const auto add = [&](MachineBasicBlock& to, MachineBasicBlock::iterator at, unsigned opcode) {
    return llvm::BuildMI(to, at, line, instructions_.get(opcode));
  };
  const auto end = block.end();
  if (place.on_stack) {
    move_stack_pointer(block, end, -red_zone);
    if (writes_flags(place))
      push_flags(block, end, line);
    if (keep_scratch) {
      add(block, end, codes_.push).addReg(scratch, llvm::RegState::Undef);
      describe_pushed(block, end, 8);
    }
    auto begin = rest.begin();
    if (keep_scratch) {
      add(rest, begin, codes_.pop).addReg(scratch, llvm::RegState::Define);
      describe_pushed(rest, begin, -8);
    }
    if (writes_flags(place))
      pop_flags(rest, begin, line);
    move_stack_pointer(rest, begin, red_zone);
  }
  if (polls_by_page()) {
    emit_load(block, cold, scratch, line);
    return;
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
  constexpr int not_equal = 5;
  instructions_.insertBranch(block, &cold, nullptr, {llvm::MachineOperand::CreateImm(not_equal)}, line);
}

// A jump from within assembly code, as an asm goto has: the fault's handler makes it, by an entry of a table
// that the linker puts together.
void poll_code_x86_64::emit_load(MachineBasicBlock& block, MachineBasicBlock& cold, llvm::MCRegister scratch,
                                 const llvm::DebugLoc& line) {
  const std::string name = llvm::StringRef(registers_.getName(scratch)).lower();
  const std::string whole = "%" + name;
  const std::string half = llvm::isDigit(name[1]) ? whole + "d" : "%e" + name.substr(1);
  const std::string page = poll_page;
  std::string text;
  const auto add = [&](const std::string& each) { text += each + "\n\t"; };
  if (indirect_)
    add("movq " + page + "@GOTTPOFF(%rip), " + whole);
  text += ".Lsennit_check${:uid}:\n\t";
  add("movl %fs:" + (indirect_ ? "(" + whole + ")" : page + "@TPOFF") + ", " + half);
  add(".pushsection sennit_polls,\"a?o\",@progbits,.Lsennit_check${:uid}");
  add(".long .Lsennit_check${:uid}-., ${1:l}-.");
  text += ".popsection";

  using llvm::InlineAsm;
  llvm::BuildMI(block, block.end(), line, instructions_.get(llvm::TargetOpcode::INLINEASM_BR))
      .addExternalSymbol(function_.createExternalSymbolName(text))
      .addImm(InlineAsm::Extra_HasSideEffects)
      .addImm(InlineAsm::Flag(InlineAsm::Kind::Clobber, 1))
      .addReg(scratch, llvm::RegState::Define | llvm::RegState::Dead | llvm::RegState::EarlyClobber)
      .addImm(InlineAsm::Flag(InlineAsm::Kind::Imm, 1))
      .addMBB(&cold);
  cold.setIsInlineAsmBrIndirectTarget();
  cold.setMachineBlockAddressTaken();
  cold.setLabelMustBeEmitted();
}

}  // namespace

std::unique_ptr<poll_code> make_poll_code_x86_64(MachineFunction& function) {
  return std::make_unique<poll_code_x86_64>(function);
}

}  // namespace sennit::compiler
