// An LLVM that the plugin was not built for is refused before it can crash, and so are options that would
// have no effect.
#pragma once

#include "machine_pass.hpp"

namespace sennit::compiler {

// Ends the process with a message if it has another libLLVM in memory than the plugin's.
void refuse_other_libraries();

// Ends the process with a message unless the code at `caller` belongs to the LLVM that the plugin is linked
// with, and that is of the version it was compiled for.
void refuse_other_llvm(const void* caller);

// The plugin was asked for its passes.
void options_have_passes();

// Reports options of a plugin that was only opened. (Code that is left to a link, -flto, is not compiled
// here, so it gets no report.)
class refuse_options_without_passes final : public machine_pass {
public:
  static char ID;
  static constexpr char argument[] = "sennit-refuse-options";
  refuse_options_without_passes() : machine_pass(ID, "Sennit: options without passes") {}
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    machine_pass::getAnalysisUsage(usage);
    usage.setPreservesAll();
  }
  bool runOnMachineFunction(llvm::MachineFunction& function) override;
};

}  // namespace sennit::compiler
