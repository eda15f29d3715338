// Thread-local variables in code whose thread may change at a switch.
//
// Compilers take a function to end on the thread that it began on: they compute the address of a thread-local
// variable once, as they would a constant, and libc tells them that errno's address and pthread_self() are
// constants, too. After a switch a fiber may run on another thread, and these are the former one's.
//
// Here the address is read by a function that reads memory which only calls may change. That is what a switch
// looks like to the optimizer: reads between two calls merge, none is moved across one. It is the first thing
// that happens to a unit. The last is that where the address is a constant away from the thread pointer, two
// instructions take the function's place. They are volatile, for the code generator knows no such memory.
//
// Rejected: volatile from the start (nothing merges); assembly that names the variable from the start (it is
// not seen as a use, and an LTO link renames what is local).
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

// What libc and the C++ runtime have that depends on the thread alone. They declare it const.
bool is_of_thread(llvm::StringRef function);

// The variable whose address the function reads, if it is one of the above; else empty.
llvm::StringRef variable_read_by(const llvm::Function& function);

}  // namespace sennit::compiler
