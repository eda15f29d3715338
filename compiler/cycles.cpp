#include "cycles.hpp"

#include <llvm/ADT/DenseMap.h>

#include <algorithm>

namespace sennit::compiler {

using llvm::MachineBasicBlock;

// Tarjan's algorithm, without recursion.
std::vector<blocks> components(const blocks& among) {
  struct state {
    unsigned number = 0, low = 0;
    bool on_path = false;
  };
  llvm::DenseMap<MachineBasicBlock*, state> states;
  for (MachineBasicBlock* each : among)
    states[each];
  std::vector<blocks> found;
  blocks path;
  unsigned count = 0;
  struct visit {
    MachineBasicBlock* block;
    MachineBasicBlock::succ_iterator next;
  };
  std::vector<visit> stack;
  const auto enter = [&](MachineBasicBlock* block) {
    states[block] = {++count, count, true};
    path.push_back(block);
    stack.push_back({block, block->succ_begin()});
  };
  const auto leave = [&](MachineBasicBlock* block) {
    stack.pop_back();
    const state mine = states[block];
    if (!stack.empty())
      states[stack.back().block].low = std::min(states[stack.back().block].low, mine.low);
    if (mine.low != mine.number)
      return;
    blocks part;
    do {
      part.push_back(path.back());
      states[path.back()].on_path = false;
      path.pop_back();
    } while (part.back() != block);
    found.push_back(std::move(part));
  };
  for (MachineBasicBlock* root : among) {
    if (states[root].number != 0)
      continue;
    enter(root);
    while (!stack.empty()) {
      visit& top = stack.back();
      if (top.next == top.block->succ_end()) {
        leave(top.block);
        continue;
      }
      MachineBasicBlock* next = *top.next++;
      const auto known = states.find(next);
      if (known == states.end())
        continue;
      if (known->second.number == 0)
        enter(next);
      else if (known->second.on_path)
        states[top.block].low = std::min(states[top.block].low, known->second.number);
    }
  }
  return found;
}

bool is_cycle(const blocks& part) {
  return part.size() > 1 || part.front()->isSuccessor(part.front());
}

std::vector<blocks> cycles_among(const blocks& among) {
  std::vector<blocks> all = components(among);
  std::erase_if(all, [](const blocks& part) { return !is_cycle(part); });
  return all;
}

}  // namespace sennit::compiler
