// The registers that a check must save, and the stub that saves exactly those.
//
// A stub is a function named after the registers that it saves (sennit_yield_rax_xmm0, sennit_yield_x0_v1),
// in a section that a linker keeps once for a program: sites, functions and units share it. It calls
// sennit_forced_yield, which keeps the registers that a C function keeps; the stub does not save those.
// save_set_x86_64.hpp and save_set_aarch64.hpp draw it.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineFunction.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sennit::compiler {

// What a target has none of stays empty.
struct save_set {
  std::uint32_t general = 0;  // those that a call does not keep, as the target numbers them
  std::uint32_t vectors_128 = 0, vectors_256 = 0, vectors_512 = 0;  // bits; each in one of them at most
  std::uint8_t masks = 0;
  bool wide_masks = false;  // 64 bits of each
  bool x87 = false;         // the whole state, of functions that use it or MMX at all
  bool avx = false;         // vectors are moved by VEX or EVEX encoded instructions
  bool flags = false;       // where the stub saves them

  unsigned count() const;
};

enum class bank : std::uint8_t {
  general,
  vector_128,
  vector_256,
  vector_512,
  mask,
  x87,
  flags,
  no_state,  // none of its own; its component registers may have one
  unknown
};

struct register_place {
  bank in = bank::unknown;
  std::uint8_t index = 0;
  bool with_parts = false;  // which count as the whole
};

// By the registers' numbers. By their names: the target's own header is none of those that are installed.
using register_places = std::vector<register_place>;
register_places places_by_name(const llvm::TargetRegisterInfo& registers,
                               llvm::function_ref<register_place(llvm::StringRef)> place_of);

// The number in a name that is a prefix and a number; a large one, of any other.
unsigned number_behind(llvm::StringRef name, llvm::StringRef prefix);

// Those of a target, as far as targets do not differ.
class savable_registers {
protected:
  savable_registers(const llvm::MachineFunction& function, const register_places& places);

  // With those in a set that holds for the function as a whole. None: something is live that no stub can
  // save.
  std::optional<save_set> add(save_set saved, const llvm::LivePhysRegs& live) const;

  const register_place& place_of_register(llvm::MCPhysReg number) const { return places_[number]; }

private:
  const register_places& places_;
  const std::uint32_t* kept_;
};

template <class Visit>
void each_bit(std::uint32_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1)
    visit(static_cast<unsigned>(std::countr_zero(bits)));
}

struct stub {
  std::string name;
  std::string text;  // which defines it once in a unit
};

// How the names of stubs begin.
inline constexpr const char* stub_prefix = "sennit_yield_";

std::string stub_name(llvm::ArrayRef<std::string> saved);
stub make_stub(std::string name, const std::string& instructions);

}  // namespace sennit::compiler
