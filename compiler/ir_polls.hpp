// Checks as others place them, to compare with: before optimization, in the intermediate code
// (-mllvm -sennit-polls-ir=check|call), at the head of every loop and the entry of every function that calls.
//
//   check   the flag is tested, and the scheduler called if it is set
//   call    sennit_poll is called, which tests it
//
// The optimizer and the register allocator see them: what is live is spilled around a call, and a loop that
// has one is not vectorized. For measurement only (bench/polls); programs are to use -sennit-polls.
#pragma once

namespace llvm {
class PassBuilder;
}

namespace sennit::compiler {

// If they are asked for. To be called when passes are registered.
void add_ir_polls(llvm::PassBuilder& passes);

}  // namespace sennit::compiler
