#include "poll_code.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCDwarf.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "polls_at_link.hpp"

namespace sennit::compiler {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;

namespace {

enum class tls_access : std::uint8_t { automatic, local_exec, initial_exec };
link_option<tls_access> access_wanted(
    "sennit-polls-tls", llvm::cl::init(tls_access::automatic), llvm::cl::desc("How a check finds its flag"),
    llvm::cl::values(clEnumValN(tls_access::automatic, "auto", "local-exec, but in code for shared objects"),
                     clEnumValN(tls_access::local_exec, "local-exec",
                                "for executables with a static libsennit"),
                     clEnumValN(tls_access::initial_exec, "initial-exec", "for any")));

enum class checks : std::uint8_t { flag, page };
link_option<checks> checks_wanted(
    "sennit-polls-check", llvm::cl::init(checks::flag),
    llvm::cl::desc("How a check learns that it is to yield"),
    llvm::cl::values(clEnumValN(checks::flag, "flag", "compares a byte, and branches"),
                     clEnumValN(checks::page, "page", "loads from a page, which faults then; x86-64 only")));

enum class saves : std::uint8_t { live, all };
link_option<saves> saves_wanted(
    "sennit-polls-save", llvm::cl::init(saves::live), llvm::cl::desc("What a check's stub saves"),
    llvm::cl::values(clEnumValN(saves::live, "live", "what is live there"),
                     clEnumValN(saves::all, "all", "all that a call does not keep, to compare with")));

bool is_indirect(const MachineFunction& function) {
  return access_wanted == tls_access::initial_exec ||
         (access_wanted == tls_access::automatic &&
          function.getTarget().getRelocationModel() == llvm::Reloc::PIC_ &&
          function.getFunction().getParent()->getPIELevel() == llvm::PIELevel::Default);
}

}  // namespace

bool polls_by_page() {
  return checks_wanted == checks::page;
}

bool names_poll(const llvm::MachineInstr& instruction) {
  return llvm::any_of(instruction.operands(), [&](const llvm::MachineOperand& each) {
    return (each.isSymbol() && each.getSymbolName() == llvm::StringRef(poll_flag)) ||
           (each.isSymbol() && instruction.getOpcode() == llvm::TargetOpcode::INLINEASM_BR &&
            llvm::StringRef(each.getSymbolName()).contains(poll_page)) ||
           (each.isGlobal() && each.getGlobal()->getName().ltrim('\1') == poll_flag);
  });
}

bool poll_code::is_for(const llvm::Triple& target, const llvm::DataLayout& layout) {
  return target.isOSBinFormatELF() && layout.getPointerSize() == 8 &&
         (target.getArch() == llvm::Triple::x86_64 ||
          (target.getArch() == llvm::Triple::aarch64 && !polls_by_page()));
}

std::unique_ptr<poll_code> poll_code::of_target(MachineFunction& function) {
  const llvm::Triple& target = function.getTarget().getTargetTriple();
  if (!is_for(target, function.getDataLayout()))
    return nullptr;
  switch (target.getArch()) {
    case llvm::Triple::x86_64:
      if (function.getTarget().getCodeModel() == llvm::CodeModel::Large)
        return nullptr;  // a call would not reach its stub
      return make_poll_code_x86_64(function);
    case llvm::Triple::aarch64:
      return make_poll_code_aarch64(function);
    default:
      return nullptr;
  }
}

poll_code::poll_code(MachineFunction& function)
    : function_(function),
      instructions_(*function.getSubtarget().getInstrInfo()),
      registers_(*function.getSubtarget().getRegisterInfo()),
      indirect_(is_indirect(function)) {}

void poll_code::add_rule(MachineBasicBlock& block, MachineBasicBlock::iterator at,
                         const llvm::MCCFIInstruction& rule) {
  if (function_.needsFrameMoves())
    llvm::BuildMI(block, at, {}, instructions_.get(llvm::TargetOpcode::CFI_INSTRUCTION))
        .addCFIIndex(function_.addFrameInst(rule));
}

// Calls the stub. The first caller defines it.
void poll_code::emit_cold(MachineBasicBlock& cold, const gap& place, const llvm::DebugLoc& line) {
  const stub called = stub_of(saves_wanted == saves::all ? all() : place.saved);
  std::string text;
  for (const char each : called.text)
    text += each == '$' ? "$$" : std::string(1, each);
  llvm::BuildMI(cold, cold.end(), {}, instructions_.get(llvm::TargetOpcode::INLINEASM))
      .addExternalSymbol(function_.createExternalSymbolName(text))
      .addImm(llvm::InlineAsm::Extra_HasSideEffects);
  emit_call(cold, function_.createExternalSymbolName(called.name), place, line);
}

void poll_code::emit(MachineBasicBlock& block, const gap& place) {
  const llvm::DebugLoc line = block.findDebugLoc(place.at);
  MachineBasicBlock& rest = *function_.CreateMachineBasicBlock(block.getBasicBlock());
  function_.insert(std::next(block.getIterator()), &rest);
  rest.splice(rest.end(), &block, place.at, block.end());
  rest.transferSuccessors(&block);
  MachineBasicBlock& cold = *function_.CreateMachineBasicBlock();
  function_.push_back(&cold);
  emit_check(block, rest, cold, place, line);
  emit_cold(cold, place, line);
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
