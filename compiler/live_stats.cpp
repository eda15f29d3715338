#include "live_stats.hpp"

#include <llvm/ADT/Sequence.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <string>

#include "append_line.hpp"
#include "machine_pass.hpp"
#include "widest_registers.hpp"

namespace sennit::compiler {

namespace {

llvm::cl::opt<std::string> file("sennit-live-stats", llvm::cl::value_desc("file"),
                                llvm::cl::desc("Add to a file how many registers are live where"));

struct counted {
  const llvm::MachineFunction& function;
  llvm::SmallVector<llvm::MCPhysReg, 64> registers = widest_registers(function);
  llvm::SmallVector<unsigned, 64> points{};
  unsigned at_calls = 0;
  llvm::json::Array blocks{};

  unsigned size(const llvm::LivePhysRegs& live) const {
    const llvm::MachineRegisterInfo& used = function.getRegInfo();
    return static_cast<unsigned>(
        llvm::count_if(registers, [&](llvm::MCPhysReg each) { return !live.available(used, each); }));
  }

  void add(llvm::MachineBasicBlock& block) {
    llvm::SmallVector<const llvm::MachineInstr*, 32> real;
    for (const llvm::MachineInstr& each : block)
      if (!each.isMetaInstruction())
        real.push_back(&each);
    if (real.empty())
      return;
    const auto ends = llvm::find_if(real, [](const auto* each) { return each->isTerminator(); });
    llvm::SmallVector<unsigned, 32> sizes(static_cast<std::size_t>(ends - real.begin()) + 1);
    // Backwards, as liveness is known.
    llvm::LivePhysRegs live(*function.getSubtarget().getRegisterInfo());
    live.addLiveOutsNoPristines(block);
    std::size_t behind = real.size();
    if (behind < sizes.size())
      sizes[behind] = size(live);
    for (const llvm::MachineInstr& each : llvm::reverse(block)) {
      live.stepBackward(each);
      if (!each.isMetaInstruction() && --behind < sizes.size())
        sizes[behind] = size(live);
    }

    const auto is_call = [&](std::size_t at) {
      return at < real.size() && real[at]->isCall() && !real[at]->isReturn();
    };
    const unsigned least = *std::min_element(sizes.begin(), sizes.end());
    bool least_at_call = false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool at_call = is_call(i) || (i != 0 && is_call(i - 1));
      at_calls += at_call;
      least_at_call |= at_call && sizes[i] == least;
      if (points.size() <= sizes[i])
        points.resize(sizes[i] + 1);
      ++points[sizes[i]];
    }
    const bool calls = llvm::any_of(llvm::seq(sizes.size()), is_call);
    blocks.push_back(llvm::json::Array{*std::max_element(sizes.begin(), sizes.end()), sizes.front(),
                                       sizes.back(), least, calls ? int(least_at_call) : -1});
  }
};

class live_stats final : public machine_pass {
public:
  static char ID;
  static constexpr char argument[] = "sennit-count-live";
  live_stats() : machine_pass(ID, "Sennit: how many registers are live") {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    machine_pass::getAnalysisUsage(usage);
    usage.setPreservesAll();
  }
  bool runOnMachineFunction(llvm::MachineFunction& function) override;
};
char live_stats::ID = 0;

bool live_stats::runOnMachineFunction(llvm::MachineFunction& function) {
  counted all{function};
  for (llvm::MachineBasicBlock& block : function)
    all.add(block);
  std::string line;
  llvm::raw_string_ostream text(line);
  text << llvm::json::Object{{"function", function.getName()},
                             {"points", llvm::json::Array(all.points)},
                             {"at_calls", all.at_calls},
                             {"blocks", std::move(all.blocks)}}
       << '\n';
  append_line(function.getFunction().getContext(), file, line);
  return false;
}

}  // namespace

void add_live_stats() {
  if (!file.empty())
    add_machine_pass<live_stats>();
}

}  // namespace sennit::compiler
