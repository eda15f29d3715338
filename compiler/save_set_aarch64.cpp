#include "save_set_aarch64.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Support/MathExtras.h>

#include <vector>

#include "target_names.hpp"

namespace sennit::compiler {

namespace {

constexpr unsigned platform_register = 18;
constexpr std::uint32_t general_registers = (1 << 19) - 1;
constexpr std::uint32_t half_kept = 0xff00;  // v8 to v15

register_place place_of(llvm::StringRef name) {
  if (const unsigned number = number_behind(name, "X"); number <= platform_register)
    return {bank::general, static_cast<std::uint8_t>(number), true};
  if (const unsigned number = number_behind(name, "Q"); number < 32)
    return {bank::vector_128, static_cast<std::uint8_t>(number), true};
  if (name == "NZCV")
    return {bank::flags};
  // Of several registers the single ones are among the parts. Control words are as they are at a call.
  const bool none =
      name.contains('_') ||
      llvm::StringSwitch<bool>(name).Cases("SP", "XZR", "WZR", "FPCR", "FPSR", true).Default(false);
  return {none ? bank::no_state : bank::unknown, 0, name == "SP"};
}

// The registers of v8 to v15 whose whole width a register contains, in the same order.
struct registers_known {
  register_places places;
  std::vector<std::uint32_t> whole;

  explicit registers_known(const llvm::TargetRegisterInfo& registers)
      : places(places_by_name(registers, place_of)), whole(registers.getNumRegs()) {
    for (unsigned r = 1; r < registers.getNumRegs(); ++r)
      for (const llvm::MCPhysReg part : registers.subregs_inclusive(r))
        if (const unsigned number = number_behind(registers.getName(part), "Q"); number < 32)
          whole[r] |= (std::uint32_t{1} << number) & half_kept;
  }
};

const registers_known& known(const llvm::MachineFunction& function) {
  static const registers_known all(*function.getSubtarget().getRegisterInfo());
  return all;
}

std::uint32_t whole_used(const llvm::MachineFunction& function) {
  std::uint32_t used = 0;
  for (const llvm::MachineBasicBlock& block : function)
    for (const llvm::MachineInstr& instruction : block)
      for (const llvm::MachineOperand& operand : instruction.operands())
        if (operand.isReg() && operand.getReg().isPhysical())
          used |= known(function).whole[operand.getReg().id()];
  return used;
}

std::string numbered(const char* prefix, unsigned number) {
  return prefix + std::to_string(number);
}

}  // namespace

savable_registers_aarch64::savable_registers_aarch64(const llvm::MachineFunction& function)
    : savable_registers(function, known(function).places),
      has_vectors_(function.getSubtarget().checkFeatures("+fp-armv8")),
      keeps_x18_(function.getSubtarget().getRegisterInfo()->getReservedRegs(function).test(
          register_named(*function.getSubtarget().getRegisterInfo(), "X18"))),
      streams_(llvm::any_of(function.getFunction().getAttributes().getFnAttrs(),
                            [](const llvm::Attribute& each) {
                              return each.isStringAttribute() &&
                                     each.getKindAsString().starts_with("aarch64_");
                            })),
      whole_used_(whole_used(function)) {}

std::optional<save_set> savable_registers_aarch64::of(const llvm::LivePhysRegs& live) const {
  std::optional<save_set> saved = streams_ ? std::nullopt : add({}, live);
  if (saved && whole_used_ != 0)
    for (const llvm::MCPhysReg r : live)
      if (place_of_register(r).in == bank::vector_128)
        saved->vectors_128 |= (std::uint32_t{1} << place_of_register(r).index) & whole_used_;
  return saved;
}

save_set savable_registers_aarch64::all() const {
  save_set saved;
  saved.general = general_registers & ~(keeps_x18_ ? 1U << platform_register : 0);
  saved.vectors_128 = has_vectors_ ? ~0U : 0;
  saved.flags = true;
  return saved;
}

llvm::SmallVector<std::uint8_t, 16> savable_registers_aarch64::spare(const save_set& saved) {
  llvm::SmallVector<std::uint8_t, 16> found;
  for (std::uint8_t number = 16; number-- != 0;)
    if ((saved.general >> number & 1) == 0)
      found.push_back(number);
  return found;
}

stub savable_registers_aarch64::stub_of(const save_set& saved) {
  std::vector<std::string> names, general, vectors;
  each_bit(saved.general, [&](unsigned i) { general.push_back(numbered("x", i)); });
  each_bit(saved.vectors_128, [&](unsigned i) { vectors.push_back(numbered("q", i)); });
  names = general;
  each_bit(saved.vectors_128, [&](unsigned i) { names.push_back(numbered("v", i)); });
  if (saved.flags)
    names.emplace_back("nzcv");

  // From the stack pointer up.
  const std::size_t flags_at = 8 * general.size();
  const std::size_t vectors_at = llvm::alignTo(flags_at + (saved.flags ? 8 : 0), 16);
  const std::size_t size = vectors_at + 16 * vectors.size();

  std::string text;
  const auto line = [&](const std::string& instruction) { text += "\t" + instruction + "\n"; };
  const auto at = [](std::size_t offset) { return ", [sp, #" + std::to_string(offset) + "]"; };
  const auto move = [&](const std::string& how, const std::vector<std::string>& registers, std::size_t first,
                        std::size_t width) {
    for (std::size_t i = 0; i < registers.size(); i += 2)
      if (i + 1 < registers.size())
        line(how + "p " + registers[i] + ", " + registers[i + 1] + at(first + i * width));
      else
        line(how + "r " + registers[i] + at(first + i * width));
  };

  line("stp x29, x30, [sp, #-16]!");
  line(".cfi_def_cfa_offset 16");
  line(".cfi_offset x29, -16");
  line(".cfi_offset x30, -8");
  line("mov x29, sp");
  line(".cfi_def_cfa x29, 16");
  if (size != 0)
    line("sub sp, sp, #" + std::to_string(size));
  move("st", general, 0, 8);
  // One of them may hold the interrupted function's return address.
  line(".cfi_remember_state");
  for (std::size_t i = 0; i < general.size(); ++i)
    line(".cfi_offset " + general[i] + ", -" + std::to_string(16 + size - 8 * i));
  if (saved.flags) {
    line("mrs x9, nzcv");
    line("str x9" + at(flags_at));
  }
  move("st", vectors, vectors_at, 16);
  line("bl sennit_forced_yield");
  move("ld", vectors, vectors_at, 16);
  if (saved.flags) {
    line("ldr x9" + at(flags_at));
    line("msr nzcv, x9");
  }
  move("ld", general, 0, 8);
  line(".cfi_restore_state");
  if (size != 0)
    line("mov sp, x29");
  line("ldp x29, x30, [sp], #16");
  line(".cfi_def_cfa sp, 0");
  line(".cfi_restore x30");
  line(".cfi_restore x29");
  line("ret");
  return make_stub(stub_name(names), text);
}

}  // namespace sennit::compiler
