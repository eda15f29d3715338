// Paths of a function that are too long from one check to the next, while checks are being chosen.
//
// A called function counts if its checks were chosen before: the path to its first check, the path through
// it, and the path from its last check. Other called functions count as nothing. tools/sennit-polls-distance
// adds them up.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/CodeGen/MachineFunction.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "distance.hpp"
#include "poll_code.hpp"

namespace sennit::compiler {

using checks = llvm::DenseMap<llvm::MachineBasicBlock*, gap>;  // a block has at most one

// What is too long: a path of more than the limit between two checks. So that callers have room, also half of
// it from the function's beginning to its first check or its end, and three quarters where a called function
// has the check, or from the last check to the end.
class long_paths {
public:
  // Of the function before checks are inserted.
  long_paths(llvm::MachineFunction& function, measure of, std::uint64_t limit);

  struct point {
    llvm::MachineBasicBlock* block;
    std::uint64_t before;  // on the path from the last check to the block's beginning
  };

  struct path {
    llvm::MachineBasicBlock* end;
    std::vector<point> points;  // from there back to the last check, without the blocks of cycles
  };

  // A path that is too long; none: no path is. A cycle without a bound is not looked at.
  std::optional<path> first(const checks& chosen) { return walk(chosen, false); }

  // From the block's beginning to that instruction.
  std::uint64_t up_to(const llvm::MachineBasicBlock& block, llvm::MachineBasicBlock::const_iterator at) const;

  // Paths that become too long in that block are no longer looked at.
  void give_up(const llvm::MachineBasicBlock& block) { given_up_.insert(&block); }

  // For the callers: these checks are final.
  void keep(const checks& chosen);

private:
  using length = std::optional<std::uint64_t>;  // none: there is no such path
  struct state {
    length from_entry, from_check;
  };
  struct summary {
    length through, enter, leave;
  };

  std::optional<path> walk(const checks& chosen, bool to_the_end);
  bool advance(const llvm::MachineBasicBlock& block, const gap* check, state& now);
  summary of_callee(const llvm::MachineInstr& call) const;
  static llvm::DenseMap<const llvm::Function*, summary>& known(measure of);

  llvm::MachineFunction& function_;
  const distances distances_;
  const costs costs_;
  const std::uint64_t limit_;
  const measure measure_;
  summary mine_;
  llvm::DenseSet<const llvm::MachineBasicBlock*> given_up_;
};

}  // namespace sennit::compiler
