// What a check saves on AArch64. A stub keeps every register but x30, the return address:
//
//   bl sennit_yield_x0_x1_v0_nzcv
//     stp x29, x30, [sp, #-16]!     so that backtraces go on
//     mov x29, sp
//     sub sp, sp, #48
//     stp x0, x1, [sp]
//     mrs x9, nzcv; str x9, [sp, #16]
//     str q0, [sp, #32]
//     bl sennit_forced_yield
//     ldr q0, [sp, #32]
//     ldr x9, [sp, #16]; msr nzcv, x9
//     ldp x0, x1, [sp]
//     mov sp, x29
//     ldp x29, x30, [sp], #16
//     ret
//
// A vector register is saved as a whole. A call keeps the lower half of v8 to v15, so they are saved if the
// upper half is live. It also counts as live if only the lower half seems to be, in a function that uses the
// whole register anywhere: the instruction that wrote the lower half zeroed the upper one. Later instructions
// may rely on that although liveness does not show it (KILL of a narrow register that is read as a wide one).
//
// No stub saves SVE's and SME's registers.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "save_set.hpp"

namespace sennit::compiler {

class savable_registers_aarch64 : public savable_registers {
public:
  explicit savable_registers_aarch64(const llvm::MachineFunction& function);

  // None: something is live that no stub can save.
  std::optional<save_set> of(const llvm::LivePhysRegs& live) const;

  // All that the function's target has and a call does not keep, live or not.
  save_set all() const;

  // General registers that are not in a set, to be written at will, by their numbers. Linkers may write x16
  // and x17 between a call and what is called, and x18 is the platform's.
  static llvm::SmallVector<std::uint8_t, 16> spare(const save_set& saved);

  static stub stub_of(const save_set& saved);

private:
  bool has_vectors_;
  bool keeps_x18_;                // it is reserved
  bool streams_;                  // SME: calls have other rules
  std::uint32_t whole_used_ = 0;  // of v8 to v15
};

}  // namespace sennit::compiler
