// Where no check may stand: in Sennit's own code, though it is inline in whoever uses it, and in functions
// that the program marks (sennit/no_yield.h). And where a fiber may not yield though there are checks: while
// it holds locks of libc's, and in some call-backs.
//
// A queue is half changed in the middle of a yield, or a send. So before anything is inlined, the functions
// in namespace sennit, and those that are marked, get an empty volatile assembly statement at their beginning
// and one before each return: these cost no instruction, memory accesses are not moved across them, and they
// are there after register allocation, when all else that tells of the function is gone. Between them no
// check is placed. What throws leaves without the second one: then there is none until the function returns.
//
// The function that a fiber was given is not Sennit's code, but called by it: it is not inlined there.
//
// Functions of libc's that lock and unlock, or call back, and libstdc++'s around the initialisation of static
// variables, are called by another name: sennit_pthread_mutex_lock calls the other, and counts for the fiber
// (src/sched/no_yield_calls.cpp). Who takes their addresses gets those, too.
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

// How many of them are entered and not left, as far as a function's paths tell: the most, of several ways.
class no_yield_depth {
public:
  explicit no_yield_depth(const llvm::MachineFunction& function);
  unsigned at_begin(const llvm::MachineBasicBlock& block) const { return depth_.lookup(&block); }
  static unsigned after(const llvm::MachineInstr& instruction, unsigned depth);

private:
  llvm::DenseMap<const llvm::MachineBasicBlock*, unsigned> depth_;
};

}  // namespace sennit::compiler
