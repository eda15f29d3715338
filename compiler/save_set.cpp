#include "save_set.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/CallingConv.h>

namespace sennit::compiler {

unsigned save_set::count() const {
  return static_cast<unsigned>(std::popcount(general) +
                               std::popcount(vectors_128 | vectors_256 | vectors_512) + std::popcount(masks) +
                               (x87 ? 8 : 0) + (flags ? 1 : 0));
}

unsigned number_behind(llvm::StringRef name, llvm::StringRef prefix) {
  unsigned number = 0;
  if (!name.consume_front(prefix) || name.getAsInteger(10, number))
    return ~0u;
  return number;
}

register_places places_by_name(const llvm::TargetRegisterInfo& registers,
                               llvm::function_ref<register_place(llvm::StringRef)> place_of) {
  register_places made(registers.getNumRegs());
  for (unsigned r = 1; r < registers.getNumRegs(); ++r)
    made[r] = place_of(registers.getName(r));
  for (unsigned r = 1; r < registers.getNumRegs(); ++r)
    if (made[r].with_parts)
      for (const llvm::MCPhysReg part : registers.subregs(r))
        made[part] = made[r];
  return made;
}

savable_registers::savable_registers(const llvm::MachineFunction& function, const register_places& places)
    : places_(places),
      kept_(function.getSubtarget().getRegisterInfo()->getCallPreservedMask(function, llvm::CallingConv::C)) {
}

std::optional<save_set> savable_registers::add(save_set saved, const llvm::LivePhysRegs& live) const {
  for (const llvm::MCPhysReg r : live) {
    if (!llvm::MachineOperand::clobbersPhysReg(kept_, r))
      continue;
    const std::uint32_t bit = std::uint32_t{1} << places_[r].index;
    switch (places_[r].in) {
      case bank::general:
        saved.general |= bit;
        break;
      case bank::vector_128:
        saved.vectors_128 |= bit;
        break;
      case bank::vector_256:
        saved.vectors_256 |= bit;
        break;
      case bank::vector_512:
        saved.vectors_512 |= bit;
        break;
      case bank::mask:
        saved.masks |= static_cast<std::uint8_t>(bit);
        break;
      case bank::flags:
        saved.flags = true;
        break;
      case bank::x87:
      case bank::no_state:
        break;
      case bank::unknown:
        return std::nullopt;
    }
  }
  return saved;
}

std::string stub_name(llvm::ArrayRef<std::string> saved) {
  return stub_prefix + (saved.empty() ? "none" : llvm::join(saved, "_"));
}

stub make_stub(std::string name, const std::string& instructions) {
  std::string text;
  const auto line = [&](const std::string& directive) { text += "\t" + directive + "\n"; };
  line(".ifndef " + name);
  line(".pushsection .text.unlikely." + name + ",\"axG\",@progbits," + name + ",comdat");
  line(".weak " + name);
  line(".hidden " + name);
  line(".type " + name + ",@function");
  text += name + ":\n";
  line(".cfi_startproc");
  text += instructions;
  line(".cfi_endproc");
  line(".size " + name + ", .-" + name);
  line(".popsection");
  line(".endif");
  return {std::move(name), std::move(text)};
}

}  // namespace sennit::compiler
