// What a check saves on x86-64. A stub is entered with any stack pointer, and keeps every register but the
// flags:
//
//   call sennit_yield_rax_xmm0      pushes the return address
//     push rbp; mov rbp, rsp        so that backtraces go on, however the stack is aligned below
//     push rax
//     lea rsp, [rsp - 16]; and rsp, -16
//     movups [rsp], xmm0
//     call sennit_forced_yield
//     movups xmm0, [rsp]
//     lea rsp, [rbp - 8]
//     pop rax; pop rbp; ret
//
// A vector register is saved as wide as it is live. If the function may use AVX, its load is VEX encoded, and
// zeroes the bits above. The instruction that wrote the register did so, too, and later ones may rely on it
// although liveness does not show it (KILL of a narrow register that is read as a wide one).
#pragma once

#include "save_set.hpp"

namespace sennit::compiler {

class savable_registers_x86_64 : public savable_registers {
public:
  explicit savable_registers_x86_64(const llvm::MachineFunction& function);

  // None: something is live that no stub can save.
  std::optional<save_set> of(const llvm::LivePhysRegs& live) const;

  // All that the function's target has and a call does not keep, live or not; of x87 and MMX what of() has.
  save_set all() const;

  // One of the general registers that is not in a set, to be written at will; or none. By its name.
  static const char* spare(const save_set& saved);

  static stub stub_of(const save_set& saved);

private:
  save_set nothing_;
  bool vectors_of_128_ = false;  // EVEX encoded moves of xmm16-31
  bool vectors_of_512_ = false;
};

}  // namespace sennit::compiler
