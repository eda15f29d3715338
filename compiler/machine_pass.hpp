// Machine passes after register allocation, in a stock LLVM.
//
// A pass plugin may add passes to the optimizer, but (before LLVM 21) none to the code generator;
// machine_pass.cpp describes the way around that. The passes run where "patchable-function" does, which
// follows block placement: registers are assigned, the frame is laid out, live-ins of blocks are right, and
// branches are not relaxed yet. They are passes of the legacy pass manager, and request analyses from it.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/CodeGen/MachineFunctionPass.h>

namespace sennit::compiler {

class machine_pass : public llvm::MachineFunctionPass {
public:
  llvm::StringRef getPassName() const override { return title_; }
  // A pass that needs analyses calls this first, and then requires them: they are of the function as the
  // passes before it leave it.
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override;

protected:
  machine_pass(char& id, const char* title) : MachineFunctionPass(id), title_(title) {}

private:
  const char* title_;
};

// `argument`: for -print-after= and the like. It may not be the name of an option, which opt would refuse.
void add_machine_pass(char& id, const char* argument, llvm::Pass* (*make)());

// Adds a pass behind those added before; one that was added stays where it is. To be called when passes are
// registered. The class has a static `char ID` and a static `const char argument[]`.
template <class Pass>
void add_machine_pass() {
  add_machine_pass(Pass::ID, Pass::argument, []() -> llvm::Pass* { return new Pass; });
}

}  // namespace sennit::compiler
