#include "save_set_x86_64.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include <vector>

namespace sennit::compiler {

namespace {

constexpr const char* general_names[] = {"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"};

register_place place_of(llvm::StringRef name) {
  constexpr std::pair<const char*, bank> banks[] = {
      {"XMM", bank::vector_128}, {"YMM", bank::vector_256}, {"ZMM", bank::vector_512}, {"K", bank::mask},
      {"ST", bank::x87},         {"FP", bank::x87},         {"MM", bank::x87}};
  for (const auto& [prefix, in] : banks)
    if (const unsigned number = number_behind(name, prefix); number < 32)
      return {in, static_cast<std::uint8_t>(number)};
  for (std::uint8_t i = 0; i < std::size(general_names); ++i)
    if (name.equals_insensitive(general_names[i]))
      return {bank::general, i, true};
  // Pairs of masks have the single ones among their parts. Control words are as they are at a call.
  const bool none = llvm::StringSwitch<bool>(name)
                        .Cases("K0_K1", "K2_K3", "K4_K5", "K6_K7", true)
                        .Cases("EFLAGS", "DF", "MXCSR", "FPCW", "FPSW", "SSP", true)
                        .Cases("RIP", "EIP", "IP", "HIP", "RSP", "ESP", "SP", true)
                        .Cases("CS", "DS", "ES", "FS", "GS", "SS", true)
                        .Cases("FS_BASE", "GS_BASE", true)
                        .Default(false);
  return {none ? bank::no_state : bank::unknown, 0, name == "RSP" || name == "RIP"};
}

const register_places& places(const llvm::MachineFunction& function) {
  static const register_places all = places_by_name(*function.getSubtarget().getRegisterInfo(), place_of);
  return all;
}

bool uses_x87(const llvm::MachineFunction& function, const register_places& all) {
  for (const llvm::MachineBasicBlock& block : function)
    for (const llvm::MachineInstr& instruction : block)
      for (const llvm::MachineOperand& operand : instruction.operands())
        if (operand.isReg() && operand.getReg().isPhysical() && all[operand.getReg().id()].in == bank::x87)
          return true;
  return false;
}

std::string name_of(const save_set& saved) {
  std::vector<std::string> parts;
  const auto add = [&](std::uint32_t bits, const std::string& prefix) {
    each_bit(bits, [&](unsigned i) { parts.push_back(prefix + std::to_string(i)); });
  };
  if (saved.avx && saved.vectors_128 != 0)
    parts.emplace_back("avx");
  each_bit(saved.general, [&](unsigned i) { parts.emplace_back(general_names[i]); });
  add(saved.vectors_128, "xmm");
  add(saved.vectors_256, "ymm");
  add(saved.vectors_512, "zmm");
  add(saved.masks, saved.wide_masks ? "kq" : "k");
  if (saved.x87)
    parts.emplace_back("x87");
  return stub_name(parts);
}

}  // namespace

savable_registers_x86_64::savable_registers_x86_64(const llvm::MachineFunction& function)
    : savable_registers(function, places(function)) {
  const llvm::TargetSubtargetInfo& target = function.getSubtarget();
  nothing_.avx = target.checkFeatures("+avx");
  nothing_.wide_masks = target.checkFeatures("+avx512bw");
  vectors_of_128_ = target.checkFeatures("+avx512vl");
  vectors_of_512_ = target.checkFeatures("+avx512f");
  nothing_.x87 = uses_x87(function, places(function));
}

std::optional<save_set> savable_registers_x86_64::of(const llvm::LivePhysRegs& live) const {
  std::optional<save_set> saved = add(nothing_, live);
  if (!saved)
    return saved;
  // Without AVX-512VL the upper sixteen can be moved as a whole only.
  if (!vectors_of_128_)
    saved->vectors_512 |= (saved->vectors_128 | saved->vectors_256) & 0xffff0000;
  saved->vectors_256 &= ~saved->vectors_512;
  saved->vectors_128 &= ~(saved->vectors_512 | saved->vectors_256);
  return saved;
}

save_set savable_registers_x86_64::all() const {
  save_set saved = nothing_;
  saved.general = (1 << std::size(general_names)) - 1;
  if (vectors_of_512_) {
    saved.vectors_512 = ~0u;
    saved.masks = 0xff;
  } else {
    (saved.avx ? saved.vectors_256 : saved.vectors_128) = 0xffff;
  }
  return saved;
}

const char* savable_registers_x86_64::spare(const save_set& saved) {
  for (std::size_t i = 0; i < std::size(general_names); ++i)
    if ((saved.general >> i & 1) == 0)
      return general_names[i];
  return nullptr;
}

stub savable_registers_x86_64::stub_of(const save_set& saved) {
  std::string text;
  const auto line = [&](const std::string& instruction) { text += "\t" + instruction + "\n"; };

  // What does not fit a push, from the stack pointer up; the widest first, each where it is aligned.
  struct moved {
    std::string store, load, reg;
    unsigned size;
  };
  std::vector<moved> large;
  const std::string narrow = saved.avx ? "vmovups" : "movups";
  each_bit(saved.vectors_512,
           [&](unsigned i) { large.push_back({"vmovups", "vmovups", "%zmm" + std::to_string(i), 64}); });
  each_bit(saved.vectors_256,
           [&](unsigned i) { large.push_back({"vmovups", "vmovups", "%ymm" + std::to_string(i), 32}); });
  each_bit(saved.vectors_128,
           [&](unsigned i) { large.push_back({narrow, narrow, "%xmm" + std::to_string(i), 16}); });
  const std::string mask = saved.wide_masks ? "kmovq" : "kmovw";
  each_bit(saved.masks, [&](unsigned i) { large.push_back({mask, mask, "%k" + std::to_string(i), 8}); });
  if (saved.x87)
    large.push_back({"fnsave", "frstor", "", 112});
  const unsigned align = large.empty() ? 16 : std::max(16u, std::min(large.front().size, 64u));
  unsigned size = 0;
  for (const moved& each : large)
    size += each.size;

  line("pushq %rbp");
  line(".cfi_def_cfa_offset 16");
  line(".cfi_offset %rbp, -16");
  line("movq %rsp, %rbp");
  line(".cfi_def_cfa_register %rbp");
  std::vector<std::string> pushed;
  each_bit(saved.general, [&](unsigned i) { pushed.push_back(std::string("%") + general_names[i]); });
  for (const std::string& each : pushed)
    line("pushq " + each);
  if (size != 0)
    line("leaq -" + std::to_string(size) + "(%rsp), %rsp");
  line("andq $-" + std::to_string(align) + ", %rsp");
  const auto move = [&](bool store) {
    unsigned at = 0;
    for (const moved& each : large) {
      const std::string where = std::to_string(at) + "(%rsp)";
      if (each.reg.empty())
        line((store ? each.store : each.load) + " " + where);
      else
        line(store ? each.store + " " + each.reg + ", " + where : each.load + " " + where + ", " + each.reg);
      at += each.size;
    }
  };
  move(true);
  if (saved.avx && (saved.vectors_128 | saved.vectors_256 | saved.vectors_512) != 0)
    line("vzeroupper");  // what is called may use SSE
  line("callq sennit_forced_yield@PLT");
  move(false);
  line("leaq -" + std::to_string(8 * pushed.size()) + "(%rbp), %rsp");
  for (const std::string& each : llvm::reverse(pushed))
    line("popq " + each);
  line("popq %rbp");
  line(".cfi_def_cfa %rsp, 8");
  line("retq");
  return make_stub(name_of(saved), text);
}

}  // namespace sennit::compiler
