#include "swapstack_assembly.hpp"

#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include "swapstack.hpp"

namespace sennit::compiler {

namespace {

using llvm::StringLiteral;
using llvm::Triple;

// "={r}" and so on for each, then the target and what is sent, as `destination` says.
std::string operands(StringLiteral target, StringLiteral from, const StringLiteral (&words)[most_words],
                     unsigned received, unsigned sent, bool known) {
  std::string text = ("={" + target + "},={" + from + "}").str();
  for (unsigned i = 0; i < received; ++i)
    text += (",={" + words[i] + "}").str();
  text += (",{" + target + "}").str();
  for (unsigned i = 0; i < sent; ++i)
    text += (",{" + words[i] + "}").str();
  if (known)
    text += ",s";
  for (unsigned i = received; i < most_words; ++i)
    text += (",~{" + words[i] + "}").str();
  return text;
}

// ---- x86-64.

// As SENNIT_ASM_SAVE and so on of x86_64.h, in another order: nothing is pushed, so each line may be left
// out.
std::string text_x86_64(bool raw, bool landings_are_marked, const destination& to, unsigned operand) {
  std::string code =
      "\tleaq 1f(%rip), %r9\n"
      "\tleaq -152(%rsp), %rdi\n"
      "\tmovq %rdi, %rsp\n";
  code += away;
  code += ("\tmovq %rbx, 16(%rdi) " + keeps_rbx + "\n\tmovq %rbp, 8(%rdi) " + keeps_rbp + "\n").str();
  code += "\tmovq %r9, (%rdi)\n";
  if (!raw)
    code +=
        "\tmovq sennit_thread@gottpoff(%rip), %r10\n"
        "\tmovq %fs:(%r10), %r10\n"
        "\tmovq (%r10), %r11\n"
        "\taddq 8(%r10), %r11\n"
        "\tjnz 2f\n";
  const std::string known = "${" + std::to_string(operand) + ":P}\n";
  if (to.function == nullptr)
    code += "\tjmpq *(%rax)\n";
  else if (!to.is_new)
    code += "\tjmp " + known;
  else
    code +=
        "\tmovq sennit_entered_root@GOTPCREL(%rip), %r10\n"
        "\txorl %ebp, %ebp\n"
        "\tleaq 144(%rax), %rsp\n"
        "\tmovq %r10, 144(%rax)\n"
        "\tjmp " +
        known;
  if (!raw)
    code += "2:\tjmp sennit_swapstack_busy@PLT\n";
  code += (landing + (landings_are_marked ? "\tendbr64" : "")).str();
  code += ("\n\tmovq 8(%rax), %rbp " + keeps_rbp + "\n\tmovq 16(%rax), %rbx " + keeps_rbx).str();
  code += ("\n\tleaq 152(%rax), %rsp" + back).str();
  return code;
}

std::string constraints_x86_64(unsigned received, unsigned sent, bool known) {
  constexpr StringLiteral words[most_words] = {"rsi", "rdx", "rcx", "r8", "r12", "r13", "r14", "r15"};
  std::string text = operands("rax", "rdi", words, received, sent, known);
  text += ",~{rbx},~{rbp},~{r9},~{r10},~{r11}";
  for (unsigned i = 0; i < 32; ++i)
    text += ",~{xmm" + std::to_string(i) + "}";
  for (unsigned i = 0; i < 8; ++i)
    text += ",~{k" + std::to_string(i) + "},~{mm" + std::to_string(i) + "}";
  text += ",~{st}";
  for (unsigned i = 1; i < 8; ++i)
    text += ",~{st(" + std::to_string(i) + ")}";
  return text + ",~{dirflag},~{fpsr},~{flags},~{memory}";
}

// ---- AArch64.

// As the inline switch of aarch64.h.
std::string text_aarch64(bool raw, bool landings_are_marked, const destination&, unsigned) {
  std::string code =
      "\tadr x9, 1f\n"
      "\tsub sp, sp, #32\n";
  code += away_aarch64;
  code +=
      "\tstp x9, x29, [sp]\n"
      "\tstr x19, [sp, #16]\n";
  if (!raw)
    code +=
        "\tmrs x10, tpidr_el0\n"
        "\tadrp x11, :gottprel:sennit_thread\n"
        "\tldr x11, [x11, #:gottprel_lo12:sennit_thread]\n"
        "\tldr x10, [x10, x11]\n"
        "\tldp x10, x11, [x10]\n"
        "\torr x10, x10, x11\n"
        "\tcbnz x10, 2f\n";
  code +=
      "\tmov x0, sp\n"
      "\tldp x16, x29, [x5]\n"
      "\tldr x19, [x5, #16]\n"
      "\tadd sp, x5, #32\n"
      "\tbr x16\n";
  if (!raw)
    code += "2:\tb sennit_swapstack_busy\n";
  code += (landing_aarch64 + back_aarch64).str();
  if (landings_are_marked)
    code += "\n\thint #36";
  return code;
}

std::string constraints_aarch64(unsigned received, unsigned sent, bool known) {
  constexpr StringLiteral words[most_words] = {"x1", "x2", "x3", "x4", "x25", "x26", "x27", "x28"};
  std::string text = operands("x5", "x0", words, received, sent, known);
  for (unsigned i = 6; i < 25; ++i)
    if (i != 19)  // saved, as x29
      text += ",~{x" + std::to_string(i) + "}";
  text += ",~{lr}";
  for (unsigned i = 0; i < 32; ++i)
    text += ",~{v" + std::to_string(i) + "}";
  for (unsigned i = 0; i < 16; ++i)
    text += ",~{p" + std::to_string(i) + "}";
  return text + ",~{cc},~{memory}";
}

constexpr switch_assembly of_x86_64 = {
    152, 8, 16, true, text_x86_64, constraints_x86_64, "cf-protection-branch"};
constexpr switch_assembly of_aarch64 = {
    32, 8, 16, false, text_aarch64, constraints_aarch64, "branch-target-enforcement"};

}  // namespace

const switch_assembly* switch_assembly_for(const llvm::Module& module) {
  const Triple target(module.getTargetTriple());
  if (!target.isOSBinFormatELF())
    return nullptr;
  if (target.getArch() == Triple::x86_64 && !target.isX32())
    return &of_x86_64;
  if (target.getArch() == Triple::aarch64 && target.getEnvironment() != Triple::GNUILP32)
    return &of_aarch64;
  return nullptr;
}

}  // namespace sennit::compiler
