// Polls: yield checks that are placed after register allocation (-mllvm -sennit-polls).
//
// Every cycle of a function's control flow gets one, unless it is proved to be short (trip_counts.hpp). So
// does every path from a function's entry to a call that may be part of a cycle of calls. A check is a
// compare of a thread-local byte and a branch that is not taken:
//
//         cmpb $0, %fs:sennit_yield_requested@tpoff
//         jne  .Lcold
//   .Lon: ...
//         ...
//   .Lcold:                             after the function's last block
//         leaq -128(%rsp), %rsp         where the function has a red zone
//         callq sennit_yield_rax_xmm0   saves what is live at .Lon (save_set.hpp)
//         leaq 128(%rsp), %rsp
//         jmp .Lon
//
// On AArch64, in a leaf function that keeps its return address in x30:
//
//         mrs  x15, TPIDR_EL0           a register that is dead there
//         add  x15, x15, :tprel_hi12:sennit_yield_requested
//         ldrb w15, [x15, :tprel_lo12_nc:sennit_yield_requested]
//         cbnz w15, .Lcold
//   .Lon: ...
//         ...
//   .Lcold:
//         mov  x15, x30                 where x30 is live
//         bl   sennit_yield_x0_x15_v0
//         mov  x30, x15
//         b    .Lon
//
// Registers are already assigned, so checks spill nothing, and loops are vectorized and scheduled as without
// them. On x86-64 a check writes the flags, so it stands where they are dead. A cycle where they are never
// dead gets a check that saves them on the stack. A check also saves a register that it needs if none is
// dead.
//
// The choice of a cycle's block: loops are visited from the inside out. A loop that still has a cycle without
// a check when its inner loops have theirs gets a check in one of its own blocks. Candidates are the blocks
// that cut all these cycles; the pass takes the place with the fewest registers to save. A loop's entry
// always cuts them.
//
// Source: Jaaskelainen 2008, section 3.2. Here the choice is among all places of a loop, not only the
// beginnings or ends of blocks.
#pragma once

namespace llvm {
class PassBuilder;
}

namespace sennit::compiler {

// If they are asked for. To be called when passes are registered.
void add_polls(llvm::PassBuilder& passes);

}  // namespace sennit::compiler
