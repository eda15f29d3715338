// A check on AArch64 (polls.hpp draws it).
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetFrameLowering.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Type.h>
#include <llvm/MC/MCDwarf.h>

#include <array>
#include <string>
#include <vector>

#include "poll_code.hpp"
#include "save_set_aarch64.hpp"
#include "target_names.hpp"

namespace sennit::compiler {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;

namespace {

struct encodings {
  unsigned read_system, add, load_byte, load_byte_indexed, load, page_address, branch_nonzero, call;
  unsigned move, push_pair, pop_pair;
  unsigned page, page_offset, upper_12, no_check, thread_local_;  // relocations
  llvm::MCRegister stack_pointer, link, zero, flags;
  std::array<llvm::MCRegister, 16> general, general_32;

  encodings(const llvm::TargetInstrInfo& instructions, const llvm::TargetRegisterInfo& registers)
      : read_system(opcode_named(instructions, "MRS")),
        add(opcode_named(instructions, "ADDXri")),
        load_byte(opcode_named(instructions, "LDRBBui")),
        load_byte_indexed(opcode_named(instructions, "LDRBBroX")),
        load(opcode_named(instructions, "LDRXui")),
        page_address(opcode_named(instructions, "ADRP")),
        branch_nonzero(opcode_named(instructions, "CBNZW")),
        call(opcode_named(instructions, "BL")),
        move(opcode_named(instructions, "ORRXrs")),
        push_pair(opcode_named(instructions, "STPXpre")),
        pop_pair(opcode_named(instructions, "LDPXpost")),
        page(operand_flag_named(instructions, "aarch64-page")),
        page_offset(operand_flag_named(instructions, "aarch64-pageoff")),
        upper_12(operand_flag_named(instructions, "aarch64-hi12")),
        no_check(operand_flag_named(instructions, "aarch64-nc")),
        thread_local_(operand_flag_named(instructions, "aarch64-tls")),
        stack_pointer(register_named(registers, "SP")),
        link(register_named(registers, "LR")),
        zero(register_named(registers, "XZR")),
        flags(register_named(registers, "NZCV")) {
    for (unsigned i = 0; i < general.size(); ++i) {
      general[i] = register_named(registers, "X" + std::to_string(i));
      general_32[i] = register_named(registers, "W" + std::to_string(i));
    }
  }
};

// How an unwinder finds the caller's frame and the return address.
struct unwind_state {
  unsigned base;  // the canonical frame address is that register's content and so many bytes
  std::int64_t offset = 0;
  bool link_saved = false;
};

// A frame with SVE's registers in it, which only the stack pointer finds: by an expression of the vectors'
// size, so that no check can say that it has moved the stack pointer.
bool is_found_by_expression(const MachineFunction& function) {
  const llvm::MachineFrameInfo& frame = function.getFrameInfo();
  for (int each = frame.getObjectIndexBegin(); each != frame.getObjectIndexEnd(); ++each)
    if (!frame.isDeadObjectIndex(each) && frame.getStackID(each) == llvm::TargetStackID::ScalableVector)
      return !function.getSubtarget().getFrameLowering()->hasFP(function);
  return false;
}

class poll_code_aarch64 final : public poll_code {
public:
  explicit poll_code_aarch64(MachineFunction& function)
      : poll_code(function),
        savable_(function),
        codes_(encodings_of<encodings>(function)),
        keeps_stack_(is_found_by_expression(function)) {}

  std::optional<gap> gap_at(MachineBasicBlock::iterator at, const llvm::LivePhysRegs& live) const override;

private:
  void emit_check(MachineBasicBlock& block, MachineBasicBlock& rest, MachineBasicBlock& cold,
                  const gap& place, const llvm::DebugLoc& line) override;
  void emit_call(MachineBasicBlock& cold, const char* stub, const gap& place,
                 const llvm::DebugLoc& line) override;
  save_set all() const override { return savable_.all(); }
  stub stub_of(const save_set& saved) const override { return savable_registers_aarch64::stub_of(saved); }

  llvm::GlobalVariable& flag() const;
  unsigned dwarf_number(llvm::MCRegister of) const {
    return static_cast<unsigned>(registers_.getDwarfRegNum(of, true));
  }
  void describe_pushed(MachineBasicBlock& block, MachineBasicBlock::iterator at, int bytes);
  void follow(unwind_state& state, const llvm::MachineInstr& instruction) const;
  unwind_state unwinding_behind(const MachineBasicBlock& block);

  const savable_registers_aarch64 savable_;
  const encodings& codes_;
  const bool keeps_stack_;
  unwind_state here_{};                                               // where the check is
  llvm::DenseMap<const MachineBasicBlock*, unwind_state> unwinding_;  // at blocks' beginnings
};

std::optional<gap> poll_code_aarch64::gap_at(MachineBasicBlock::iterator at,
                                             const llvm::LivePhysRegs& live) const {
  const std::optional<save_set> saved = savable_.of(live);
  if (!saved)
    return std::nullopt;
  // Or a half of it, where the function saves it and computes with it.
  const bool link_live =
      llvm::any_of(live, [&](llvm::MCPhysReg each) { return registers_.isSubRegisterEq(codes_.link, each); });
  gap here{.at = at, .saved = *saved, .link_live = link_live};
  const auto spare = savable_registers_aarch64::spare(*saved);
  const std::size_t wanted = indirect_ ? 2 : 1;
  here.on_stack = spare.size() < wanted;
  if (here.on_stack && keeps_stack_)
    return std::nullopt;
  here.scratch = {0, 1};
  if (!here.on_stack)
    std::copy_n(spare.begin(), wanted, here.scratch.begin());
  if (here.link_live)  // that is where the return address is meanwhile
    here.saved.general |= 1U << here.scratch[0];
  here.rank = static_cast<int>(here.saved.count());
  return here;
}

// The program may declare it with another model. So this is a separate variable to LLVM, though not to the
// assembler: a name that begins with \1 is used as it is.
llvm::GlobalVariable& poll_code_aarch64::flag() const {
  llvm::Module& module = *function_.getFunction().getParent();
  const std::string name = std::string("\1") + poll_flag;
  if (llvm::GlobalVariable* known = module.getNamedGlobal(name))
    return *known;
  return *new llvm::GlobalVariable(
      module, llvm::Type::getInt8Ty(module.getContext()), false, llvm::GlobalValue::ExternalLinkage, nullptr,
      name, nullptr,
      indirect_ ? llvm::GlobalValue::InitialExecTLSModel : llvm::GlobalValue::LocalExecTLSModel);
}

void poll_code_aarch64::follow(unwind_state& state, const llvm::MachineInstr& instruction) const {
  if (!instruction.isCFIInstruction())
    return;
  const llvm::MCCFIInstruction& rule =
      function_.getFrameInstructions()[instruction.getOperand(0).getCFIIndex()];
  switch (rule.getOperation()) {
    case llvm::MCCFIInstruction::OpDefCfa:
      state.base = rule.getRegister();
      state.offset = rule.getOffset();
      break;
    case llvm::MCCFIInstruction::OpDefCfaRegister:
      state.base = rule.getRegister();
      break;
    case llvm::MCCFIInstruction::OpDefCfaOffset:
      state.offset = rule.getOffset();
      break;
    case llvm::MCCFIInstruction::OpOffset:
      state.link_saved |= rule.getRegister() == dwarf_number(codes_.link);
      break;
    case llvm::MCCFIInstruction::OpRestore:
      state.link_saved &= rule.getRegister() != dwarf_number(codes_.link);
      break;
    default:
      break;
  }
}

// At the end of a block, of which a part may have been cut off. All ways to a block agree.
unwind_state poll_code_aarch64::unwinding_behind(const MachineBasicBlock& block) {
  if (unwinding_.empty()) {
    std::vector<const MachineBasicBlock*> next{&function_.front()};
    unwinding_[next.back()] = {.base = dwarf_number(codes_.stack_pointer)};
    while (!next.empty()) {
      const MachineBasicBlock& each = *next.back();
      next.pop_back();
      unwind_state state = unwinding_.lookup(&each);
      for (const llvm::MachineInstr& instruction : each)
        follow(state, instruction);
      for (const MachineBasicBlock* successor : each.successors())
        if (unwinding_.try_emplace(successor, state).second)
          next.push_back(successor);
    }
  }
  unwind_state state = unwinding_.lookup(&block);
  for (const llvm::MachineInstr& instruction : block)
    follow(state, instruction);
  return state;
}

// The total bytes, not the change: the assembler does not know the total of a restored state.
void poll_code_aarch64::describe_pushed(MachineBasicBlock& block, MachineBasicBlock::iterator at, int bytes) {
  if (here_.base == dwarf_number(codes_.stack_pointer))
    add_rule(block, at, llvm::MCCFIInstruction::cfiDefCfaOffset(nullptr, here_.offset + bytes));
}

constexpr int pair_size = 16;

void poll_code_aarch64::emit_check(MachineBasicBlock& block, MachineBasicBlock& rest, MachineBasicBlock& cold,
                                   const gap& place, const llvm::DebugLoc& line) {
  const llvm::MCRegister first = codes_.general[place.scratch[0]];
  const llvm::MCRegister second = codes_.general[place.scratch[1]];
  const llvm::MCRegister loaded = codes_.general_32[place.scratch[0]];
  const auto add = [&](unsigned opcode) {
    return llvm::BuildMI(block, block.end(), line, instructions_.get(opcode));
  };
  const auto read_thread_pointer = [&](llvm::MCRegister into) {
    constexpr int tpidr_el0 = 0xde82;
    llvm::MachineInstr& read = *add(codes_.read_system).addDef(into).addImm(tpidr_el0);
    read.removeOperand(static_cast<unsigned>(
        read.findRegisterDefOperandIdx(codes_.flags, nullptr)));  // it does not write them
  };

  if (place.on_stack || place.link_live)
    here_ = unwinding_behind(block);
  if (place.link_live)  // a return reads it, but does not say so
    rest.addLiveIn(codes_.link);
  if (place.on_stack) {
    add(codes_.push_pair)
        .addDef(codes_.stack_pointer)
        .addReg(first, llvm::RegState::Undef)
        .addReg(second, llvm::RegState::Undef)
        .addReg(codes_.stack_pointer)
        .addImm(-pair_size / 8);
    describe_pushed(block, block.end(), pair_size);
    const auto begin = rest.begin();
    llvm::BuildMI(rest, begin, line, instructions_.get(codes_.pop_pair))
        .addDef(codes_.stack_pointer)
        .addDef(first)
        .addDef(second)
        .addReg(codes_.stack_pointer)
        .addImm(pair_size / 8);
    describe_pushed(rest, begin, 0);
  }
  llvm::GlobalVariable& requested = flag();
  const unsigned lower = codes_.thread_local_ | codes_.page_offset | codes_.no_check;
  if (indirect_) {
    add(codes_.page_address)
        .addDef(first)
        .addGlobalAddress(&requested, 0, codes_.thread_local_ | codes_.page);
    add(codes_.load).addDef(first).addReg(first).addGlobalAddress(&requested, 0, lower);
    read_thread_pointer(second);
    add(codes_.load_byte_indexed).addDef(loaded).addReg(second).addReg(first).addImm(0).addImm(0);
  } else {
    read_thread_pointer(first);
    add(codes_.add)
        .addDef(first)
        .addReg(first)
        .addGlobalAddress(&requested, 0, codes_.thread_local_ | codes_.upper_12)
        .addImm(0);
    add(codes_.load_byte).addDef(loaded).addReg(first).addGlobalAddress(&requested, 0, lower);
  }
  const std::array condition{llvm::MachineOperand::CreateImm(-1),
                             llvm::MachineOperand::CreateImm(codes_.branch_nonzero),
                             llvm::MachineOperand::CreateReg(loaded, false)};
  instructions_.insertBranch(block, &cold, nullptr, condition, line);
}

// The return address that the link register has in it, where the function has not saved it, is in the check's
// register meanwhile, which the stub saves.
void poll_code_aarch64::emit_call(MachineBasicBlock& cold, const char* stub, const gap& place,
                                  const llvm::DebugLoc& line) {
  const llvm::MCRegister kept = codes_.general[place.scratch[0]];
  const auto move = [&](llvm::MCRegister to, llvm::MCRegister from) {
    llvm::BuildMI(cold, cold.end(), line, instructions_.get(codes_.move), to)
        .addReg(codes_.zero)
        .addReg(from)
        .addImm(0);
  };
  const bool is_return_address = place.link_live && !here_.link_saved;
  if (place.on_stack)
    describe_pushed(cold, cold.end(), pair_size);
  if (place.link_live)
    move(kept, codes_.link);
  if (is_return_address)
    add_rule(cold, cold.end(),
             llvm::MCCFIInstruction::createRegister(nullptr, dwarf_number(codes_.link), dwarf_number(kept)));
  llvm::BuildMI(cold, cold.end(), line, instructions_.get(codes_.call)).addExternalSymbol(stub);
  if (place.link_live)
    move(codes_.link, kept);
  if (is_return_address)
    add_rule(cold, cold.end(), llvm::MCCFIInstruction::createRestore(nullptr, dwarf_number(codes_.link)));
  if (place.on_stack)
    describe_pushed(cold, cold.end(), 0);
}

}  // namespace

std::unique_ptr<poll_code> make_poll_code_aarch64(MachineFunction& function) {
  return std::make_unique<poll_code_aarch64>(function);
}

}  // namespace sennit::compiler
