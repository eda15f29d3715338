// Proof that a function's checks are enough, read off its finished code.
//
// Not by the means that placed them (cycles.hpp): blocks of which it is proved that a run without checks goes
// through them only so often are taken away, until none is left.
//
//   1. What a check ends has no ways out. A block without a way in, or out, is gone through once.
//   2. A block of a marked loop's rounds (trip_counts.hpp) that cannot go round by the mark before the loop,
//      nor by a call, is gone through so often as the mark says.
//   3. With these away, there may be more of both kinds.
//
// Where blocks are left, one of a cycle is named, and the compiler ends. Cycles of no-yield code are none,
// nor those of a prologue, which touch the pages of a large frame.
//
// Recursion: no way from the entry leads to a call that may come back without a check on it.
#pragma once

#include <llvm/CodeGen/MachineFunction.h>

namespace sennit::compiler {

// With the marks still in it.
void verify_polls(const llvm::MachineFunction& function);

// The block ends with a check.
bool ends_with_check(const llvm::MachineBasicBlock& block);

}  // namespace sennit::compiler
