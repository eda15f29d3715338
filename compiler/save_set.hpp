// Which registers a check must save, and the stub that saves exactly those.
//
// A stub is a function of its own, named after what it saves, in a section that a linker keeps once for a
// program: sites, functions and units share it. It is entered by a call, with any stack pointer, and keeps
// every register but the flags:
//
//   call sennit_yield_rax_xmm0      pushes the return address
//     push rbp; mov rbp, rsp        so that backtraces go on, however the stack is aligned below
//     push rax
//     lea rsp, [rsp - 16]; and rsp, -16
//     movups [rsp], xmm0
//     call sennit_forced_yield      keeps what a C function keeps: those were not saved
//     movups xmm0, [rsp]
//     lea rsp, [rbp - 8]
//     pop rax; pop rbp; ret
//
// A vector register is saved as wide as it is live. Where the function may use AVX its load is VEX encoded,
// and zeroes what lies above: that is what the instruction that wrote it did, and later ones may count on it
// though liveness does not tell (KILL of a narrow register that is read as a wide one).
#pragma once

#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineFunction.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sennit::compiler {

struct save_set {
  std::uint16_t general = 0;                // the nine that a call does not keep: see save_set.cpp
  std::uint32_t xmm = 0, ymm = 0, zmm = 0;  // each in one of them at most
  std::uint8_t masks = 0;
  bool wide_masks = false;  // 64 bits of each
  bool x87 = false;         // the whole state, of functions that use it or MMX at all
  bool avx = false;         // vectors are moved by VEX or EVEX encoded instructions

  unsigned count() const;
  std::string name() const;
};

// What is known of a function as a whole, and the registers by their names: the target's own header is none
// of those that are installed.
class savable_registers {
public:
  explicit savable_registers(const llvm::MachineFunction& function);

  // None: something is live that no stub can save.
  std::optional<save_set> of(const llvm::LivePhysRegs& live) const;

  // All that the function's target has and a call does not keep, live or not; of x87 and MMX what of() has.
  save_set all() const;

  // One of the general registers that is not in a set, to be written at will; or none. By its name.
  static const char* spare(const save_set& saved);

private:
  const llvm::TargetRegisterInfo& registers_;
  const std::uint32_t* kept_;
  save_set nothing_;
  bool vectors_of_128_ = false;  // EVEX encoded moves of xmm16-31
  bool vectors_of_512_ = false;
};

// The stub's text, which defines it once in a unit.
std::string stub_text(const save_set& saved);

}  // namespace sennit::compiler
