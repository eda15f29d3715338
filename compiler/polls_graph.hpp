// What tools/sennit-polls-distance needs of a function to compute how far checks are apart in a whole
// program: a line of a file for each function, as JSON.
//
//   {"function":"add","local":true,"shown":"add(int)","unit":"a.c","parts":[{"checked":false,"next":[1],
//    "steps":[[3,9],"other",[1,1]]}, ...]}
//
// A part is a block, or a cycle that has a bound and no check. Its steps are pairs of machine instructions
// and cycles (distance.hpp), and calls between them: a name, or null for a call through a pointer. A bounded
// cycle has one step, or null if nothing bounds it. `checked`: the part ends with a check. `next`: the parts
// that may follow. The first part is the function's entry. A part that has no check comes before those that
// it reaches without a check.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/CodeGen/MachineFunction.h>

namespace sennit::compiler {

// With the marks of trip_counts.hpp still in it.
void add_to_graph(const llvm::MachineFunction& function, llvm::StringRef file);

}  // namespace sennit::compiler
