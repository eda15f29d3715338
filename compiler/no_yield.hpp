// The places without checks: Sennit's own code, even if inlined into the program's, and functions that the
// program marks (sennit/no_yield.h). And the places where a fiber may not yield although there are checks:
// while it holds locks of libc, and in some call-backs.
//
// A queue is half changed in the middle of a yield, or a send. So before inlining, functions in namespace
// sennit, and marked ones, get an empty volatile assembly statement at their beginning and one before each
// return. These cost no instruction, and memory accesses are not moved across them. They still exist after
// register allocation, when all other traces of the function are gone. No check is placed between them. An
// exception leaves without the second one: then there is no check until the function returns.
//
// The function that a fiber was given is not Sennit's code, but called by it: it is not inlined there.
//
// Functions of libc that lock and unlock, or call back, and libstdc++'s for the initialisation of static
// variables, are replaced: sennit_pthread_mutex_lock calls the original, and counts for the fiber
// (src/preempt/no_yield_calls.cpp). Code that takes their addresses gets the replacements, too.
#pragma once

#include <llvm/CodeGen/MachineBasicBlock.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/IR/PassManager.h>

namespace sennit::compiler {

class mark_no_yield : public llvm::PassInfoMixin<mark_no_yield> {
public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }
};

// Sennit's own functions, and those that are marked.
bool is_no_yield(const llvm::Function& function);

// Has the function be one of them, which has a body.
void mark_as_no_yield(llvm::Function& function);

// Undoes the other names of libc's functions in the calls of one function.
void call_libc_itself(llvm::Function& function);

// The number of them that are entered and not left, by a function's paths: the maximum of several paths.
class no_yield_depth {
public:
  explicit no_yield_depth(const llvm::MachineFunction& function);
  unsigned at_begin(const llvm::MachineBasicBlock& block) const { return depth_.lookup(&block); }
  static unsigned after(const llvm::MachineInstr& instruction, unsigned depth);

private:
  llvm::DenseMap<const llvm::MachineBasicBlock*, unsigned> depth_;
};

}  // namespace sennit::compiler
