// The primitive, for every front end (Dolan et al. 2013, sections 3.1 to 3.4): a module declares
//
//   declare ptr @sennit.newstack(ptr %top, ptr %entry)
//   declare {ptr, i64, double} @sennit.swapstack.NAME(ptr %context, i32, ptr)
//   declare {ptr, i64} @sennit.swapstack_raw.NAME(ptr %context, i64)
//
// and calls them. The call resumes %context, which must be suspended. It returns when another context resumes
// us, with that context first. Zero to eight values go along: integers and floating-point numbers of up to 64
// bits, and pointers. The values that one side passes are those that the other side's call returns, in order,
// each in its own register, the same for both ways. NAME distinguishes signatures; it and the dot may be
// missing. Instead of its result a call may have a first parameter that is `sret` of the same structure. The
// contexts are the library's (include/sennit/detail/arch/context.h): newstack is its sennit_newstack,
// swapstack keeps its invariant about exception globals, and swapstack_raw, like the library's, does not test
// them.
//
// There are three steps, so that the optimizer itself finds the entered function (section 3.3):
//
//   first   newstack becomes stores of the record. swapstack becomes loads of the resume address and of the
//           entry function, and a call that takes them along.
//   last    that call becomes assembly. If the loads have become constants, it jumps to the function itself.
//   after register allocation (swapstack_code.cpp)
//           the assembly saves only the registers that must be saved here.
//
// On AArch64 there is no third step: the assembly always saves both registers, and enters no known function.
// Elsewhere, a call is an error.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace llvm {
class PassBuilder;
}

namespace sennit::compiler {

// In opt, -passes=sennit-swapstack does the first two steps.
void add_swapstack(llvm::PassBuilder& builder);

// What the assembly has for its third step: the ends of lines that save or load a register that the function
// may have for itself, and the line from which on we are resumed.
constexpr llvm::StringLiteral keeps_rbp = "/* keeps rbp */";
constexpr llvm::StringLiteral keeps_rbx = "/* keeps rbx */";
// Unwind rules, for functions that have any: where rsp ceases to be ours, and where it is again
// (SENNIT_CFI_AWAY and SENNIT_CFI_BACK of x86_64.h).
constexpr llvm::StringLiteral unwind_rule = "/* unwind rule */";
constexpr llvm::StringLiteral away =
    "\t.cfi_escape 0x16, 16, 23, 0x38, 0x1c, 0x77, 0, 0x1c, 0x77, 0, 0x70, 0x98, 1, 0x29, 0x1e, 0x77, 0, "
    "0x22, 0x06, "
    "0x77, 0, 0x70, 0x98, 1, 0x29, 0x1e /* unwind rule */\n";
constexpr llvm::StringLiteral back = "\n\t.cfi_escape 0x80 | 16, 1 /* unwind rule */";
constexpr llvm::StringLiteral landing = "\t.p2align 6\n1: /* sennit: a switch */";
constexpr llvm::StringLiteral landing_address = "1f(%rip)";
constexpr llvm::StringLiteral away_aarch64 = "\t.cfi_escape 0x0a, 0x07, 30 /* unwind rule */\n";
constexpr llvm::StringLiteral back_aarch64 = "\n\t.cfi_escape 0x0b /* unwind rule */";
constexpr llvm::StringLiteral landing_aarch64 = "\t.p2align 4\n1: /* sennit: a switch */";

// The third step.
void add_swapstack_code();

}  // namespace sennit::compiler
