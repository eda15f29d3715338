// A place for machine passes after register allocation, in a stock LLVM.
//
// A pass plugin may add passes to the optimizer, but (before LLVM 21) none to the code generator. That one,
// however, makes its passes by looking their constructors up in the pass registry. So we register in the name
// of a late pass that changes nothing in most functions, "patchable-function", which follows block placement:
// registers are assigned, the frame is laid out, live-ins of blocks are right, and branches are not relaxed
// yet. The pass that is made does ours first, and then what the one in whose place it is would have done.
#pragma once

#include <llvm/CodeGen/MachineFunction.h>

namespace sennit::compiler {

// Returns true if it has changed the function. Called for each function, on the thread that compiles it.
using machine_step = bool (*)(llvm::MachineFunction& function);

// Adds a step, after those added before. To be called when passes are registered.
void add_machine_step(machine_step step);

// Called when code generation of a module begins; returns whether it changed the module.
using module_step = bool (*)(llvm::Module& module);
void add_module_step(module_step step);

}  // namespace sennit::compiler
