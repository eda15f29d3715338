// The primitive's assembly, once registers are assigned.
//
// The assembly declares the registers that a switch changes, rbp and rbx among them, so LLVM keeps nothing
// there and restores both for the function's caller. This does not hold for one that LLVM uses itself, as
// frame or base pointer. So the assembly comes with lines that keep the two in our record. This pass removes
// them if the function has no use for them.
//
// Resume addresses are folded (Dolan et al. 2013, section 3.2). If branches that end in a switch continue at
// the same place, and no code falls into that place, it gets the landing, at which all of them resume. So
// does the entry of a loop whose rounds end in a switch; code that falls into it from outside jumps over the
// landing.
//
//       ...                                  ...
//       jmpq *(%rax)                         jmpq *(%rax)            goes to .Lsennit_resumed_3_7
//   1:  leaq 152(%rax), %rsp
//       jmp  .Lnext
//       ...                                  ...
//       jmpq *(%rax)                         jmpq *(%rax)            the same
//   1:  leaq 152(%rax), %rsp             .Lsennit_resumed_3_7:
//   .Lnext:                                  leaq 152(%rax), %rsp
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/Statistic.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineDominators.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "asm_marks.hpp"
#include "machine_pass.hpp"
#include "swapstack.hpp"

#define DEBUG_TYPE "sennit-swapstack"

namespace sennit::compiler {

namespace {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;
using llvm::MachineInstr;
using llvm::StringRef;

ALWAYS_ENABLED_STATISTIC(landings_folded, "Number of places where several switches are resumed");

llvm::cl::opt<bool> fold("sennit-swapstack-fold", llvm::cl::init(true), llvm::cl::Hidden,
                         llvm::cl::desc("Resume where the code goes on; off: to compare with"));

void set_text(MachineInstr& instruction, const std::string& text) {
  instruction.getOperand(llvm::InlineAsm::MIOp_AsmString)
      .ChangeToES(instruction.getMF()->createExternalSymbolName(text));
}

bool is_primitive(const MachineInstr& instruction) {
  const StringRef text = assembly_of(instruction);
  return instruction.getOpcode() == llvm::TargetOpcode::INLINEASM &&
         (text.contains(landing) || text.contains(unwind_rule));
}

std::string without_lines(StringRef text, StringRef mark) {
  std::string left;
  for (const StringRef line : llvm::split(text, '\n'))
    if (!line.ends_with(mark))
      left += (left.empty() ? "" : "\n") + line.str();
  return left;
}

class function_switches {
public:
  function_switches(MachineFunction& function, const llvm::MachineDominatorTree& dominators)
      : function_(function),
        instructions_(*function.getSubtarget().getInstrInfo()),
        registers_(*function.getSubtarget().getRegisterInfo()),
        rules_(function.needsFrameMoves()),
        dominators_(dominators) {}

  bool run();
  bool remove_unused_rules();
  bool has_new_blocks() const { return has_new_blocks_; }

private:
  using switches = llvm::SmallVector<MachineInstr*, 4>;

  bool is_taken(StringRef name) const;
  unsigned number(StringRef name) const;
  MachineInstr* switch_before(MachineBasicBlock& next, MachineBasicBlock& block) const;
  bool is_round(MachineBasicBlock& entry, MachineBasicBlock& block) const;
  bool jump_over(MachineBasicBlock& above, MachineBasicBlock& next) const;
  switches foldable_before(MachineBasicBlock& next) const;
  void fold_before(MachineBasicBlock& next);

  MachineFunction& function_;
  const llvm::TargetInstrInfo& instructions_;
  const llvm::TargetRegisterInfo& registers_;
  const bool rules_;                              // the function has rules for unwinding
  const llvm::MachineDominatorTree& dominators_;  // among the blocks that there were
  bool has_new_blocks_ = false;
};

// By its name: the target's own header is none of those that are installed.
unsigned function_switches::number(StringRef name) const {
  for (unsigned i = 1; i < registers_.getNumRegs(); ++i)
    if (StringRef(registers_.getName(i)) == name)
      return i;
  llvm::report_fatal_error("sennit: this LLVM's x86 has no " + name);
}

// Not the allocator's: the function itself has a use for it.
bool function_switches::is_taken(StringRef name) const {
  return function_.getRegInfo().isReserved(number(name));
}

// The switch at the end of a block that continues at `next`, and nowhere else.
MachineInstr* function_switches::switch_before(MachineBasicBlock& next, MachineBasicBlock& block) const {
  MachineBasicBlock *target = nullptr, *other = nullptr;
  llvm::SmallVector<llvm::MachineOperand, 4> condition;
  if (block.succ_size() != 1 || instructions_.analyzeBranch(block, target, other, condition) ||
      !condition.empty() || (target != nullptr && target != &next))
    return nullptr;
  for (MachineInstr& each : llvm::reverse(block)) {
    if (each.isTerminator() || each.isDebugInstr())
      continue;
    return is_primitive(each) ? &each : nullptr;
  }
  return nullptr;
}

// The block continues with another round of the loop that begins at `entry`.
bool function_switches::is_round(MachineBasicBlock& entry, MachineBasicBlock& block) const {
  return dominators_.dominates(&entry, &block);
}

// Has the block that falls into the next jump there instead.
bool function_switches::jump_over(MachineBasicBlock& above, MachineBasicBlock& next) const {
  MachineBasicBlock *target = nullptr, *other = nullptr;
  llvm::SmallVector<llvm::MachineOperand, 4> condition;
  if (instructions_.analyzeBranch(above, target, other, condition))
    return false;
  instructions_.insertUnconditionalBranch(above, &next, above.findBranchDebugLoc());
  return true;
}

// The switches that are to be resumed just before the block: those that end its predecessors, if there is a
// place for the landing.
function_switches::switches function_switches::foldable_before(MachineBasicBlock& next) const {
  switches all;
  if (next.isEHPad() || next.hasAddressTaken() || next.isInlineAsmBrIndirectTarget())
    return all;
  bool falls = false;  // whoever is not resumed there
  bool jumps = false;
  bool in_loop = true;  // all of them, in one that begins there
  MachineBasicBlock& above = *std::prev(next.getIterator());
  for (MachineBasicBlock* block : next.predecessors()) {
    MachineInstr* last = switch_before(next, *block);
    if (last != nullptr) {
      all.push_back(last);
      in_loop &= is_round(next, *block);
    }
    if (block == &above && block->canFallThrough())
      falls |= last == nullptr;
    else
      jumps |= last != nullptr;
  }
  if (!jumps || (falls && (!in_loop || is_round(next, above) || !jump_over(above, next))))
    all.clear();
  return all;
}

void function_switches::fold_before(MachineBasicBlock& next) {
  const switches all = foldable_before(next);
  if (all.empty())
    return;
  ++landings_folded;
  has_new_blocks_ = true;
  next.setAlignment(llvm::Align(1));  // it is fallen into, in each round
  MachineBasicBlock& resumed = *function_.CreateMachineBasicBlock();
  function_.insert(next.getIterator(), &resumed);
  resumed.setIsInlineAsmBrIndirectTarget();
  const auto rax = llvm::Register(number("RAX"));
  const std::string label = ".Lsennit_resumed_" + std::to_string(function_.getFunctionNumber()) + "_" +
                            std::to_string(resumed.getNumber());
  for (MachineInstr* each : all) {
    const auto [before, after] = assembly_of(*each).split(landing);
    if (resumed.empty()) {
      const auto [align, mark] = landing.split("1:");
      const std::string text = ((rules_ ? away : "") + align + label + ":" + mark + after).str();
      llvm::BuildMI(resumed, resumed.end(), each->getDebugLoc(),
                    instructions_.get(llvm::TargetOpcode::INLINEASM))
          .addExternalSymbol(function_.createExternalSymbolName(text))
          .addImm(llvm::InlineAsm::Extra_HasSideEffects)
          .addImm(llvm::InlineAsm::Flag(llvm::InlineAsm::Kind::RegUse, 1))
          .addReg(rax);
    }
    const auto [save, leave] = before.split(landing_address);
    set_text(*each, (save + label + "(%rip)" + leave.rtrim('\n') + (rules_ ? back : "")).str());
    MachineBasicBlock& block = *each->getParent();
    instructions_.removeBranch(block);
    // To LLVM, a branch whose targets are the block's successors.
    each->setDesc(instructions_.get(llvm::TargetOpcode::INLINEASM_BR));
    for (llvm::MachineOperand& operand : each->operands())
      if (operand.isReg() && operand.isDef() && operand.getReg() == rax)
        operand.setIsDead(false);
    block.replaceSuccessor(&next, &resumed);
  }
  resumed.addSuccessor(&next, llvm::BranchProbability::getOne());
  llvm::LivePhysRegs live;
  llvm::computeAndAddLiveIns(live, resumed);
  resumed.sortUniqueLiveIns();
}

// On AArch64.
bool function_switches::remove_unused_rules() {
  bool any = false;
  for (MachineBasicBlock& block : function_)
    for (MachineInstr& each : block)
      if (!rules_ && is_primitive(each)) {
        any = true;
        set_text(each, without_lines(assembly_of(each), unwind_rule));
      }
  return any;
}

bool function_switches::run() {
  bool any = false;
  const bool rbp = is_taken("RBP"), rbx = is_taken("RBX");
  for (MachineBasicBlock& block : function_)
    for (MachineInstr& each : block) {
      if (!is_primitive(each))
        continue;
      any = true;
      std::string text = assembly_of(each).str();
      if (!rbp)
        text = without_lines(text, keeps_rbp);
      if (!rbx)
        text = without_lines(text, keeps_rbx);
      if (!rules_)
        text = without_lines(text, unwind_rule);
      set_text(each, text);
    }
  if (any && fold) {
    llvm::SmallVector<MachineBasicBlock*, 32> blocks;
    for (MachineBasicBlock& each : llvm::drop_begin(function_))
      blocks.push_back(&each);
    for (MachineBasicBlock* each : blocks)
      fold_before(*each);
  }
  return any;
}

class swapstack_code final : public machine_pass {
public:
  static char ID;
  static constexpr char argument[] = "sennit-swapstack-code";
  swapstack_code() : machine_pass(ID, "Sennit: the code of switches") {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    machine_pass::getAnalysisUsage(usage);
    usage.addRequired<llvm::MachineDominatorTreeWrapperPass>();
    usage.addPreserved<llvm::MachineDominatorTreeWrapperPass>();
  }

  bool runOnMachineFunction(MachineFunction& function) override {
    const auto isa = function.getTarget().getTargetTriple().getArch();
    if ((isa != llvm::Triple::x86_64 && isa != llvm::Triple::aarch64) || !function.hasInlineAsm())
      return false;
    auto& dominators = getAnalysis<llvm::MachineDominatorTreeWrapperPass>().getDomTree();
    function_switches switches(function, dominators);
    if (isa == llvm::Triple::aarch64)
      return switches.remove_unused_rules();
    const bool changed = switches.run();
    if (switches.has_new_blocks())
      dominators.calculate(function);
    return changed;
  }
};
char swapstack_code::ID = 0;

}  // namespace

void add_swapstack_code() {
  add_machine_pass<swapstack_code>();
}

}  // namespace sennit::compiler
