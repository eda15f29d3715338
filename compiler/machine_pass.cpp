#include "machine_pass.hpp"

#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>

#include <memory>
#include <mutex>

namespace sennit::compiler {

namespace {

// Registered once for a process, though a thin link builds pipelines on several threads. Each of them runs
// steps after it has asked for all of them, so nothing changes then.
std::mutex registering;
llvm::SmallVector<machine_step, 4>& steps() {
  static llvm::SmallVector<machine_step, 4> all;
  return all;
}

llvm::SmallVector<module_step, 1>& module_steps() {
  static llvm::SmallVector<module_step, 1> all;
  return all;
}

llvm::PassInfo::NormalCtor_t make_replaced = nullptr;

class steps_then_replaced final : public llvm::MachineFunctionPass {
public:
  // It has the replaced pass's name, so that a search for that pass finds it.
  steps_then_replaced()
      : MachineFunctionPass(llvm::PatchableFunctionID),
        replaced(static_cast<MachineFunctionPass*>(make_replaced())) {}

  llvm::StringRef getPassName() const override { return "Sennit's machine passes"; }

  bool doInitialization(llvm::Module& module) override {
    bool changed = false;
    for (const module_step step : module_steps())
      changed |= step(module);
    return replaced->doInitialization(module) || changed;
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    bool changed = false;
    for (const machine_step step : steps())
      changed |= step(function);
    return run_replaced(function) || changed;
  }

private:
  // It overrides a protected member as a public one.
  bool run_replaced(llvm::MachineFunction& function) {
    struct opened : MachineFunctionPass {
      using MachineFunctionPass::runOnMachineFunction;
    };
    return (replaced.get()->*(&opened::runOnMachineFunction))(function);
  }

  std::unique_ptr<MachineFunctionPass> replaced;
};

}  // namespace

void add_module_step(module_step step) {
  const std::lock_guard locked(registering);
  if (!llvm::is_contained(module_steps(), step))
    module_steps().push_back(step);
}

void add_machine_step(machine_step step) {
  const std::lock_guard locked(registering);
  if (llvm::is_contained(steps(), step))
    return;
  steps().push_back(step);
  if (make_replaced != nullptr)
    return;
  llvm::PassRegistry& registry = *llvm::PassRegistry::getPassRegistry();
  llvm::initializeCodeGen(registry);
  auto* info = const_cast<llvm::PassInfo*>(registry.getPassInfo(&llvm::PatchableFunctionID));
  make_replaced = info->getNormalCtor();
  info->setNormalCtor([]() -> llvm::Pass* { return new steps_then_replaced; });
}

}  // namespace sennit::compiler
