// Thread-local variables in code whose thread may change at a switch.
//
// Compilers assume that a function ends on the thread that it began on. They compute the address of a
// thread-local variable once, like a constant, and libc declares errno's address and pthread_self() as
// constants, too. After a switch a fiber may run on another thread, and these values belong to the former
// one.
//
// Here a function reads the address, from memory that only calls may change. To the optimizer that looks like
// a switch: reads between two calls merge, and none moves across a call. This is the first step for a unit.
// The last step replaces the function by two instructions if the address is a constant distance from the
// thread pointer. They are volatile, because the code generator has no such memory.
//
// Rejected: volatile from the start (nothing merges); assembly that names the variable from the start (the
// optimizer does not see that use, and an LTO link renames local variables).
//
// Not covered: an address that the program itself keeps over a switch, in a reference or pointer.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Function.h>

namespace llvm {
class PassBuilder;
}

namespace sennit::compiler {

// -mllvm -sennit-fiber-tls; in opt, -passes=sennit-fiber-tls,sennit-fiber-tls-hoist,sennit-fiber-tls-lower.
void add_fiber_tls(llvm::PassBuilder& builder);

// Functions of libc and the C++ runtime that depend only on the thread. They are declared const.
bool is_of_thread(llvm::StringRef function);

// The variable whose address the function reads, if it is one of the above; else empty.
llvm::StringRef variable_read_by(const llvm::Function& function);

}  // namespace sennit::compiler
