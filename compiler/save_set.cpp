#include "save_set.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/CallingConv.h>

#include <bit>
#include <vector>

namespace sennit::compiler {

namespace {

constexpr const char* general_names[] = {"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"};

enum class bank : std::uint8_t { general, xmm, ymm, zmm, mask, x87, no_state, unknown };

struct place {
  bank in = bank::unknown;
  std::uint8_t index = 0;
};

unsigned number_behind(llvm::StringRef name, llvm::StringRef prefix) {
  unsigned number = 0;
  if (!name.consume_front(prefix) || name.getAsInteger(10, number))
    return ~0u;
  return number;
}

place place_of(llvm::StringRef name) {
  constexpr std::pair<const char*, bank> banks[] = {
      {"XMM", bank::xmm}, {"YMM", bank::ymm}, {"ZMM", bank::zmm}, {"K", bank::mask},
      {"ST", bank::x87},  {"FP", bank::x87},  {"MM", bank::x87}};
  for (const auto& [prefix, in] : banks)
    if (const unsigned number = number_behind(name, prefix); number < 32)
      return {in, static_cast<std::uint8_t>(number)};
  for (std::uint8_t i = 0; i < std::size(general_names); ++i)
    if (name.equals_insensitive(general_names[i]))
      return {bank::general, i};
  // Pairs of masks have the single ones among their parts. Control words are as they are at a call.
  const bool none = llvm::StringSwitch<bool>(name)
                        .Cases("K0_K1", "K2_K3", "K4_K5", "K6_K7", true)
                        .Cases("EFLAGS", "DF", "MXCSR", "FPCW", "FPSW", "SSP", true)
                        .Cases("RIP", "EIP", "IP", "HIP", "RSP", "ESP", "SP", true)
                        .Cases("CS", "DS", "ES", "FS", "GS", "SS", true)
                        .Cases("FS_BASE", "GS_BASE", true)
                        .Default(false);
  return {none ? bank::no_state : bank::unknown, 0};
}

// By the registers' numbers. A part of a general register counts as the whole.
const std::vector<place>& places(const llvm::TargetRegisterInfo& registers) {
  static const std::vector<place> all = [&] {
    std::vector<place> made(registers.getNumRegs());
    for (unsigned r = 1; r < registers.getNumRegs(); ++r)
      made[r] = place_of(registers.getName(r));
    for (unsigned r = 1; r < registers.getNumRegs(); ++r)
      if (made[r].in == bank::general || registers.getName(r) == llvm::StringRef("RSP") ||
          registers.getName(r) == llvm::StringRef("RIP"))
        for (const llvm::MCPhysReg part : registers.subregs(r))
          made[part] = made[r];
    return made;
  }();
  return all;
}

bool uses_x87(const llvm::MachineFunction& function, const std::vector<place>& all) {
  for (const llvm::MachineBasicBlock& block : function)
    for (const llvm::MachineInstr& instruction : block)
      for (const llvm::MachineOperand& operand : instruction.operands())
        if (operand.isReg() && operand.getReg().isPhysical() && all[operand.getReg().id()].in == bank::x87)
          return true;
  return false;
}

template <class Visit>
void each_bit(std::uint32_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1)
    visit(static_cast<unsigned>(std::countr_zero(bits)));
}

}  // namespace

unsigned save_set::count() const {
  return static_cast<unsigned>(std::popcount(general) + std::popcount(xmm | ymm | zmm) +
                               std::popcount(masks) + (x87 ? 8 : 0));
}

std::string save_set::name() const {
  std::string made = "sennit_yield";
  const auto add = [&](const std::string& part) { made += "_" + part; };
  if (avx && xmm != 0)
    add("avx");
  each_bit(general, [&](unsigned i) { add(general_names[i]); });
  each_bit(xmm, [&](unsigned i) { add("xmm" + std::to_string(i)); });
  each_bit(ymm, [&](unsigned i) { add("ymm" + std::to_string(i)); });
  each_bit(zmm, [&](unsigned i) { add("zmm" + std::to_string(i)); });
  each_bit(masks, [&](unsigned i) { add((wide_masks ? "kq" : "k") + std::to_string(i)); });
  if (x87)
    add("x87");
  return count() == 0 ? made + "_none" : made;
}

savable_registers::savable_registers(const llvm::MachineFunction& function)
    : registers_(*function.getSubtarget().getRegisterInfo()),
      kept_(registers_.getCallPreservedMask(function, llvm::CallingConv::C)) {
  const llvm::TargetSubtargetInfo& target = function.getSubtarget();
  nothing_.avx = target.checkFeatures("+avx");
  nothing_.wide_masks = target.checkFeatures("+avx512bw");
  vectors_of_128_ = target.checkFeatures("+avx512vl");
  vectors_of_512_ = target.checkFeatures("+avx512f");
  nothing_.x87 = uses_x87(function, places(registers_));
}

std::optional<save_set> savable_registers::of(const llvm::LivePhysRegs& live) const {
  const std::vector<place>& all = places(registers_);
  save_set saved = nothing_;
  for (const llvm::MCPhysReg r : live) {
    if (!llvm::MachineOperand::clobbersPhysReg(kept_, r))
      continue;
    const std::uint32_t bit = std::uint32_t{1} << all[r].index;
    switch (all[r].in) {
      case bank::general:
        saved.general |= static_cast<std::uint16_t>(bit);
        break;
      case bank::xmm:
        saved.xmm |= bit;
        break;
      case bank::ymm:
        saved.ymm |= bit;
        break;
      case bank::zmm:
        saved.zmm |= bit;
        break;
      case bank::mask:
        saved.masks |= static_cast<std::uint8_t>(bit);
        break;
      case bank::x87:
      case bank::no_state:
        break;
      case bank::unknown:
        return std::nullopt;
    }
  }
  // Without AVX-512VL the upper sixteen can be moved as a whole only.
  if (!vectors_of_128_)
    saved.zmm |= (saved.xmm | saved.ymm) & 0xffff0000;
  saved.ymm &= ~saved.zmm;
  saved.xmm &= ~(saved.zmm | saved.ymm);
  return saved;
}

save_set savable_registers::all() const {
  save_set saved = nothing_;
  saved.general = (1 << std::size(general_names)) - 1;
  if (vectors_of_512_) {
    saved.zmm = ~0u;
    saved.masks = 0xff;
  } else {
    (saved.avx ? saved.ymm : saved.xmm) = 0xffff;
  }
  return saved;
}

const char* savable_registers::spare(const save_set& saved) {
  for (std::size_t i = 0; i < std::size(general_names); ++i)
    if ((saved.general >> i & 1) == 0)
      return general_names[i];
  return nullptr;
}

std::string stub_text(const save_set& saved) {
  const std::string name = saved.name();
  std::string text;
  const auto line = [&](const std::string& instruction) { text += "\t" + instruction + "\n"; };

  // What does not fit a push, from the stack pointer up; the widest first, each where it is aligned.
  struct moved {
    std::string store, load, reg;
    unsigned size;
  };
  std::vector<moved> large;
  const std::string narrow = saved.avx ? "vmovups" : "movups";
  each_bit(saved.zmm,
           [&](unsigned i) { large.push_back({"vmovups", "vmovups", "%zmm" + std::to_string(i), 64}); });
  each_bit(saved.ymm,
           [&](unsigned i) { large.push_back({"vmovups", "vmovups", "%ymm" + std::to_string(i), 32}); });
  each_bit(saved.xmm, [&](unsigned i) { large.push_back({narrow, narrow, "%xmm" + std::to_string(i), 16}); });
  const std::string mask = saved.wide_masks ? "kmovq" : "kmovw";
  each_bit(saved.masks, [&](unsigned i) { large.push_back({mask, mask, "%k" + std::to_string(i), 8}); });
  if (saved.x87)
    large.push_back({"fnsave", "frstor", "", 112});
  const unsigned align = large.empty() ? 16 : std::max(16u, std::min(large.front().size, 64u));
  unsigned size = 0;
  for (const moved& each : large)
    size += each.size;

  line(".ifndef " + name);
  line(".pushsection .text.unlikely." + name + ",\"axG\",@progbits," + name + ",comdat");
  line(".weak " + name);
  line(".hidden " + name);
  line(".type " + name + ",@function");
  text += name + ":\n";
  line(".cfi_startproc");
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
  if (saved.avx && (saved.xmm | saved.ymm | saved.zmm) != 0)
    line("vzeroupper");  // what is called may use SSE
  line("callq sennit_forced_yield@PLT");
  move(false);
  line("leaq -" + std::to_string(8 * pushed.size()) + "(%rbp), %rsp");
  for (const std::string& each : llvm::reverse(pushed))
    line("popq " + each);
  line("popq %rbp");
  line(".cfi_def_cfa %rsp, 8");
  line("retq");
  line(".cfi_endproc");
  line(".size " + name + ", .-" + name);
  line(".popsection");
  line(".endif");
  return text;
}

}  // namespace sennit::compiler
