// The code of a check (polls.hpp draws it): the common part of the targets.
#pragma once

#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineFunction.h>

#include <array>
#include <memory>
#include <optional>

#include "save_set.hpp"

namespace sennit::compiler {

// In a block, before an instruction or at the end. `rank`: the lowest is taken.
struct gap {
  llvm::MachineBasicBlock::iterator at;
  save_set saved;
  bool flags_live = false;                // though a check writes them
  bool link_live = false;                 // though a call writes it: AArch64's x30
  bool on_stack = false;                  // more must be saved, to check at all
  bool parts_compare = false;             // from its branch, with which the CPU makes it one operation
  std::array<std::uint8_t, 2> scratch{};  // AArch64's general registers that a check writes
  int rank = 0;
};

// What a check compares, or loads (poll_page.hpp).
inline constexpr const char* poll_flag = "sennit_yield_requested";
inline constexpr const char* poll_page = "sennit_poll_page";
bool names_poll(const llvm::MachineInstr& instruction);

// -sennit-polls-check=page
bool polls_by_page();

class poll_code {
public:
  // Whether there are checks for a target at all.
  static bool is_for(const llvm::Triple& target, const llvm::DataLayout& layout);
  // Null: for another target or code model.
  static std::unique_ptr<poll_code> of_target(llvm::MachineFunction& function);
  virtual ~poll_code() = default;
  poll_code(const poll_code&) = delete;
  poll_code& operator=(const poll_code&) = delete;

  // Ranked by how many registers must be saved. None: something is live that no stub can save, or there is no
  // way to save what a check itself needs.
  virtual std::optional<gap> gap_at(llvm::MachineBasicBlock::iterator at,
                                    const llvm::LivePhysRegs& live) const = 0;

  // Splits the block in two, where the check is put between them.
  void emit(llvm::MachineBasicBlock& block, const gap& place);

protected:
  explicit poll_code(llvm::MachineFunction& function);

  // Emits the check, which ends the block and may branch to `cold` instead of the rest, and the code in
  // `cold` that undoes its effects.
  virtual void emit_check(llvm::MachineBasicBlock& block, llvm::MachineBasicBlock& rest,
                          llvm::MachineBasicBlock& cold, const gap& place, const llvm::DebugLoc& line) = 0;
  virtual void emit_call(llvm::MachineBasicBlock& cold, const char* stub, const gap& place,
                         const llvm::DebugLoc& line) = 0;
  virtual save_set all() const = 0;
  virtual stub stub_of(const save_set& saved) const = 0;

  // The unwinder's rules from there on.
  void add_rule(llvm::MachineBasicBlock& block, llvm::MachineBasicBlock::iterator at,
                const llvm::MCCFIInstruction& rule);

  llvm::MachineFunction& function_;
  const llvm::TargetInstrInfo& instructions_;
  const llvm::TargetRegisterInfo& registers_;
  const bool indirect_;  // what is checked is found by the global offset table, into a register

private:
  void emit_cold(llvm::MachineBasicBlock& cold, const gap& place, const llvm::DebugLoc& line);
};

std::unique_ptr<poll_code> make_poll_code_x86_64(llvm::MachineFunction& function);
std::unique_ptr<poll_code> make_poll_code_aarch64(llvm::MachineFunction& function);

}  // namespace sennit::compiler
