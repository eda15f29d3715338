// Loops of few rounds, which need no check: what the optimizer has proved, told to the machine passes.
//
// Late in the optimizer a loop of which scalar evolution knows that it is gone round at most N times gets two
// marks. They are empty volatile assembly statements, like those of no_yield.hpp: no instruction is left.
//
//           # sennit: before loop 7
//   header:
//           # sennit: round of loop 7 of 32 at most       each round goes through it
//
// Statements that are volatile are executed as often, and in the order, as the program says, whatever later
// passes do to the blocks that they are in. So of the machine code this much is true: between two executions
// of "before loop 7" are at most 32 of its rounds. A cycle with the second mark and without the first goes
// round at most 32 times whenever it is entered; and one that also has the first, as it is where loops were
// merged, or none, because a mark was lost, has no proved bound. Then it gets a check.
//
// A loop that calls something is not marked: what it calls may run long.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/PassManager.h>

#include <cstdint>

namespace llvm {
class Loop;
class ScalarEvolution;
class TargetTransformInfo;
}  // namespace llvm

namespace sennit::compiler {

// The option -sennit-polls-limit: so many machine instructions may a loop have without a check, in all its
// rounds.
std::uint64_t most_without_check();

class mark_trip_counts : public llvm::PassInfoMixin<mark_trip_counts> {
public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Puts the marks of a loop that is gone round so often at most after its strip begins: by who knows that
// better than scalar evolution.
void mark_rounds(llvm::BasicBlock& before, llvm::BasicBlock& header, std::uint64_t rounds);

bool is_marked(const llvm::Loop& loop);

// Marks a loop that has no marks and calls nothing, if scalar evolution knows a bound.
bool mark_if_bounded(const llvm::Loop& loop, llvm::ScalarEvolution& evolution);

// In a block, or a loop, something may run for long that is not seen here.
bool calls_something(const llvm::BasicBlock& block);
bool calls_something(const llvm::Loop& loop);

// In machine instructions, as far as the target tells in advance. Of a loop: all its blocks, once.
std::uint64_t size_of(const llvm::BasicBlock& block, const llvm::TargetTransformInfo& target);
std::uint64_t size_of(const llvm::Loop& loop, const llvm::TargetTransformInfo& target);

struct loop_mark {
  unsigned loop;
  std::uint64_t rounds;  // at most; 0: the mark before the loop
};

// In the order of the block.
llvm::SmallVector<loop_mark, 2> marks_of(const llvm::MachineBasicBlock& block);

// Nobody needs them any more, and assemblers need not see them.
bool remove_marks(llvm::MachineFunction& function);

}  // namespace sennit::compiler
