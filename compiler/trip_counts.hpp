// Loops of few rounds, which need no check: the optimizer's proofs, passed to the machine passes.
//
// Late in the optimizer, a loop whose trip count scalar evolution bounds by N gets two marks. They are empty
// volatile assembly statements, like those of no_yield.hpp: no instruction is left.
//
//           # sennit: before loop 7
//   header:
//           # sennit: round of loop 7 of 32 at most       each round goes through it
//
// Volatile statements are executed as often, and in the order, as the program requires, whatever later passes
// do to their blocks. So for the machine code this holds: between two executions of "before loop 7" are at
// most 32 of its rounds. A cycle with the second mark and without the first runs at most 32 rounds whenever
// it is entered. A cycle that also has the first (loops were merged), or has none (a mark was lost), has no
// proved bound. Then it gets a check.
//
// A loop with a call is not marked: the called function may run long.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/PassManager.h>

#include <cstdint>
#include <optional>

namespace llvm {
class Loop;
class ScalarEvolution;
class TargetTransformInfo;
}  // namespace llvm

namespace sennit::compiler {

// The option -sennit-polls-limit: so many machine instructions may a loop have without a check, in all its
// rounds. With -sennit-polls-limit-ns it is an estimate on the safe side.
std::uint64_t most_without_check();

// The cycles between checks that -sennit-polls-limit-ns allows; none: there is no such limit.
std::optional<std::uint64_t> most_cycles_without_check();

class mark_trip_counts : public llvm::PassInfoMixin<mark_trip_counts> {
public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Puts the marks of a loop with at most so many rounds after its strip begins. For a pass that knows this
// better than scalar evolution.
void mark_rounds(llvm::BasicBlock& before, llvm::BasicBlock& header, std::uint64_t rounds);

bool is_marked(const llvm::Loop& loop);

// Marks a loop that has no marks and calls nothing, if scalar evolution knows a bound.
bool mark_if_bounded(const llvm::Loop& loop, llvm::ScalarEvolution& evolution);

// In a block, or a loop, something may run for long that is not seen here.
bool calls_something(const llvm::BasicBlock& block);
bool calls_something(const llvm::Loop& loop);

// In machine instructions, by the target's estimate. Of a loop: all its blocks, once.
std::uint64_t size_of(const llvm::BasicBlock& block, const llvm::TargetTransformInfo& target);
std::uint64_t size_of(const llvm::Loop& loop, const llvm::TargetTransformInfo& target);

struct loop_mark {
  unsigned loop;
  std::uint64_t rounds;  // at most; 0: the mark before the loop
};

// In the order of the block.
llvm::SmallVector<loop_mark, 2> marks_of(const llvm::MachineBasicBlock& block);

// No pass needs them any more, and assemblers need not see them.
bool remove_marks(llvm::MachineFunction& function);

}  // namespace sennit::compiler
