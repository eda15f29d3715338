// Marks: what the source and the optimizer tell the machine passes. A mark is a comment in a volatile
// assembly statement.
//
//   /* sennit: a switch */              in each inline switch of context.h (SENNIT_ASM_MARK), and in the
//   primitive's # sennit: no yield from here        no_yield.hpp # sennit: before loop 7 trip_counts.hpp
//
// A lost mark would be wrong code: a check in the middle of a queue's change, or registers that a switch
// changes and a function relies on. Nothing else of LLVM 19 reaches the machine code and cannot be lost on
// the way:
//
// - Metadata: passes may drop it, and do. Where simplifycfg merges the statements of two branches, the merged
//   one has none. (Of all metadata, only `srcloc` becomes an operand of the machine instruction.)
// - Attributes of the statement: instruction selection does not copy them to the machine instruction.
// - Constants as the statement's operands: cost models count operands, so functions with marks would be
// inlined
//   and loops unrolled less often.
// - Attributes of functions: marks are used after their functions were inlined.
// - Intrinsics and instructions of our own: a plugin cannot define any.
//
// From C source there is no other way either: clang ignores [[clang::annotate]] on an assembly statement.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/Twine.h>
#include <llvm/CodeGen/MachineInstr.h>
#include <llvm/IR/InstrTypes.h>

namespace sennit::compiler {

// The text of an assembly statement; empty for other instructions.
llvm::StringRef assembly_of(const llvm::Instruction& instruction);
llvm::StringRef assembly_of(const llvm::MachineInstr& instruction);

// Inserts a statement that consists of the mark. `clobbers`: as of inline assembly.
llvm::CallInst& put_mark(llvm::Instruction& before, const llvm::Twine& mark, llvm::StringRef clobbers);

// The statement is a switch.
bool is_switch(const llvm::Instruction& instruction);
bool is_switch(const llvm::MachineInstr& instruction);

}  // namespace sennit::compiler
