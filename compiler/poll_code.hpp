// The code of a check, for x86-64 (polls.hpp draws it).
#pragma once

#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineFunction.h>

#include <optional>

#include "save_set.hpp"

namespace sennit::compiler {

// In a block, before an instruction or at the end. `rank`: the lowest is taken.
struct gap {
  llvm::MachineBasicBlock::iterator at;
  save_set saved;
  bool flags_live = false;
  const char* spare = nullptr;  // a register that may be written
  int rank = 0;
};

// What a check compares, and how the names of stubs begin.
inline constexpr const char* poll_flag = "sennit_yield_requested";
inline constexpr const char* stub_prefix = "sennit_yield_";

inline constexpr int on_the_stack = 1 << 16;  // of those that must save more to check at all

class poll_code {
public:
  explicit poll_code(llvm::MachineFunction& function);

  // The flag's offset is loaded from the global offset table, into a register.
  bool indirect() const { return indirect_; }
  bool reads_flags(const llvm::LivePhysRegs& live) const;

  // Splits the block in two, where the check is put between them.
  void emit(llvm::MachineBasicBlock& block, const gap& place);

private:
  struct encodings;
  static const encodings& encodings_of(const llvm::MachineFunction& function);

  llvm::MachineBasicBlock& emit_cold(const gap& place, const llvm::DebugLoc& line);
  void move_stack_pointer(llvm::MachineBasicBlock& block, llvm::MachineBasicBlock::iterator at, int by);
  void say_pushed(llvm::MachineBasicBlock& block, llvm::MachineBasicBlock::iterator at, int bytes);
  bool has_red_zone() const;

  llvm::MachineFunction& function_;
  const llvm::TargetInstrInfo& instructions_;
  const llvm::TargetRegisterInfo& registers_;
  const encodings& codes_;
  bool indirect_;
  std::optional<save_set> all_;  // what each stub saves, to compare with
};

}  // namespace sennit::compiler
