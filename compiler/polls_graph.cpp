#include "polls_graph.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/JSON.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "append_line.hpp"
#include "cycles.hpp"
#include "distance.hpp"
#include "poll_code.hpp"
#include "polls_report.hpp"
#include "verify_polls.hpp"

namespace sennit::compiler {

namespace {

using llvm::MachineBasicBlock;
using llvm::MachineInstr;

class graph {
public:
  explicit graph(llvm::MachineFunction& function)
      : by_instructions_(function, measure::instructions),
        by_cycles_(function, measure::cycles),
        instructions_(function, measure::instructions),
        cycles_(function, measure::cycles) {
    blocks unchecked;
    for (MachineBasicBlock& block : function)
      if (ends_with_check(block))
        add({&block});
      else
        unchecked.push_back(&block);
    std::vector<blocks> all = components(unchecked);
    for (blocks& part : llvm::reverse(all))
      add(std::move(part));
    // The entry is the first part.
    const std::size_t entry = number_.lookup(&function.front());
    order_.push_back(entry);
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (i != entry)
        order_.push_back(i);
  }

  llvm::json::Array parts() const {
    std::vector<std::size_t> place(parts_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
      place[order_[i]] = i;
    llvm::json::Array found;
    for (const std::size_t each : order_) {
      const blocks& part = parts_[each];
      std::set<std::size_t> next;
      for (const MachineBasicBlock* block : part)
        for (const MachineBasicBlock* follower : block->successors())
          if (const std::size_t other = number_.lookup(follower);
              other != each || ends_with_check(*part.front()))
            next.insert(place[other]);
      found.push_back(llvm::json::Object{{"checked", ends_with_check(*part.front())},
                                         {"next", llvm::json::Array(next)},
                                         {"steps", steps(part)}});
    }
    return found;
  }

private:
  void add(blocks part) {
    for (MachineBasicBlock* each : part)
      number_[each] = parts_.size();
    parts_.push_back(std::move(part));
  }

  llvm::json::Value steps(const blocks& part) const {
    llvm::json::Array found;
    if (!ends_with_check(*part.front()) && is_cycle(part)) {
      const std::optional<std::uint64_t> most = by_instructions_.most_in(part),
                                         cycles = by_cycles_.most_in(part);
      if (!most || !cycles)
        return nullptr;
      found.push_back(llvm::json::Array{*most, *cycles});
      return found;
    }
    std::uint64_t instructions = 0, cycles = 0;
    for (const MachineInstr& each : *part.front()) {
      instructions += instructions_.of(each);
      cycles += cycles_.of(each);
      if (!each.isCall())
        continue;
      const std::optional<std::string> name = called_name(each);
      if (name && llvm::StringRef(*name).starts_with(stub_prefix))
        continue;
      found.push_back(llvm::json::Array{instructions, cycles});
      found.push_back(name ? llvm::json::Value(*name) : nullptr);
      instructions = cycles = 0;
    }
    found.push_back(llvm::json::Array{instructions, cycles});
    return found;
  }

  const distances by_instructions_, by_cycles_;
  const costs instructions_, cycles_;
  std::vector<blocks> parts_;
  std::vector<std::size_t> order_;
  llvm::DenseMap<const MachineBasicBlock*, std::size_t> number_;
};

}  // namespace

void add_to_graph(const llvm::MachineFunction& function, llvm::StringRef file) {
  const llvm::Function& source = function.getFunction();
  std::string line;
  llvm::raw_string_ostream text(line);
  text << llvm::json::Object{{"function", source.getName()},
                             {"local", source.hasLocalLinkage()},
                             {"shown", llvm::demangle(source.getName())},
                             {"unit", source.getParent()->getModuleIdentifier()},
                             {"parts", graph(const_cast<llvm::MachineFunction&>(function)).parts()}}
       << '\n';
  append_line(source.getContext(), file, line);
}

}  // namespace sennit::compiler
