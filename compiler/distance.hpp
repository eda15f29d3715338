// How many machine instructions are executed from one check to the next, at most, and for how many cycles.
//
// Meta instructions count as none, each statement of inline assembly as one. A call counts as one plus the
// known count of the called function.
//
// The cycles of an instruction are its latency in LLVM's scheduling model of the processor (-mcpu, -march).
// So the sum is that of instructions each of which waits for the one before it, with all data in the first
// cache.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/TargetSchedule.h>

#include <cstdint>
#include <optional>

#include "cycles.hpp"
#include "trip_counts.hpp"

namespace sennit::compiler {

// What is counted.
enum class measure : std::uint8_t { instructions, cycles };

class costs {
public:
  costs(const llvm::MachineFunction& function, measure of);
  std::uint64_t of(const llvm::MachineInstr& instruction) const;

private:
  measure measure_;
  llvm::TargetSchedModel model_;
};

// The control flow of a function, with loops of proved trip counts. A snapshot: blocks that are changed later
// are not seen.
class distances {
public:
  // `called`: the cost of the called functions, if they are to be counted.
  explicit distances(
      const llvm::MachineFunction& function, measure of = measure::instructions,
      llvm::function_ref<std::uint64_t(const llvm::MachineInstr& call)> called = [](const auto&) {
        return 0;
      });

  // The most instructions, or cycles, that are executed before the cycle is left; none: there is no proved
  // bound, or something is called, or copies memory by one instruction. The sum may be the largest number
  // there is.
  std::optional<std::uint64_t> most_in(const blocks& cycle) const;

  // The most from any check, or the function's entry, to the next, or the function's end.
  std::optional<std::uint64_t> most() const;

private:
  // For each path through these blocks, and to the check that a block behind them ends with, if that is
  // wanted.
  std::optional<std::uint64_t> most_among(const blocks& any, bool to_check) const;

  struct known {
    std::uint64_t cost = 0;
    bool long_one = false;
    bool checked = false;
    llvm::SmallVector<loop_mark, 2> marks;
  };

  const llvm::MachineFunction& function_;
  llvm::DenseMap<const llvm::MachineBasicBlock*, known> known_;
  llvm::DenseSet<unsigned> marked_before_;  // loops
};

}  // namespace sennit::compiler
