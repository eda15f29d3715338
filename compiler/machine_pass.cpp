// Everything that LLVM 19 has no hook for is in this file.
//
// Passes of the code generator: it makes its own passes by looking their constructors up in the pass
// registry. So this file replaces the constructor of a late pass that changes nothing in most functions,
// "patchable-function". What it makes instead requires our passes, each of which requires the one before it;
// so the pass manager runs them first, with the analyses that they require. Then it does what the pass in
// whose place it is would have done.
//
// LLVM calls no function of a plugin that is only opened (-fplugin= without -fpass-plugin=). So two
// constructors of the shared object refuse what cannot work (refuse.hpp).
#include "machine_pass.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>

#include <memory>
#include <mutex>

#include "refuse.hpp"

namespace sennit::compiler {

namespace {

// Registered once for a process, though a thin link builds pipelines on several threads. Each of them makes
// passes after it has asked for all of them, so nothing changes then.
std::mutex registering;
llvm::SmallVector<llvm::AnalysisID, 4>& chain() {
  static llvm::SmallVector<llvm::AnalysisID, 4> all;
  return all;
}

llvm::PassInfo::NormalCtor_t make_replaced = nullptr;

class replacing_pass final : public llvm::MachineFunctionPass {
public:
  // It has the replaced pass's name, so that a search for that pass finds it.
  replacing_pass()
      : MachineFunctionPass(llvm::PatchableFunctionID),
        replaced(static_cast<MachineFunctionPass*>(make_replaced())) {}

  llvm::StringRef getPassName() const override { return replaced->getPassName(); }

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequiredID(chain().back());
    static_cast<const Pass&>(*replaced).getAnalysisUsage(usage);
  }

  bool doInitialization(llvm::Module& module) override { return replaced->doInitialization(module); }

  // The replaced pass overrides a protected member as a public one.
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    struct opened : MachineFunctionPass {
      using MachineFunctionPass::runOnMachineFunction;
    };
    return (replaced.get()->*(&opened::runOnMachineFunction))(function);
  }

private:
  std::unique_ptr<MachineFunctionPass> replaced;
};

void replace_pass(llvm::PassRegistry& registry) {
  llvm::initializeCodeGen(registry);
  auto* info = const_cast<llvm::PassInfo*>(registry.getPassInfo(&llvm::PatchableFunctionID));
  make_replaced = info->getNormalCtor();
  info->setNormalCtor([]() -> llvm::Pass* { return new replacing_pass; });
}

// Before any use of LLVM, our options included.
[[gnu::constructor(101)]] void before_all_else() {
  refuse_other_libraries();
}

[[gnu::constructor]] void when_opened() {
  add_machine_pass<refuse_options_without_passes>();
}

}  // namespace

void machine_pass::getAnalysisUsage(llvm::AnalysisUsage& usage) const {
  const auto* const mine = llvm::find(chain(), getPassID());
  if (mine != chain().begin())
    usage.addRequiredID(*std::prev(mine));
  MachineFunctionPass::getAnalysisUsage(usage);
}

void add_machine_pass(char& id, const char* argument, llvm::Pass* (*make)()) {
  const std::lock_guard locked(registering);
  if (llvm::is_contained(chain(), &id))
    return;
  chain().push_back(&id);
  llvm::PassRegistry& registry = *llvm::PassRegistry::getPassRegistry();
  registry.registerPass(*new llvm::PassInfo(argument, argument, &id, make, false, false), true);
  if (make_replaced == nullptr)
    replace_pass(registry);
}

}  // namespace sennit::compiler
