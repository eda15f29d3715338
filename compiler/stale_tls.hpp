// Thread-local values that are stale after a switch, in code as stock clang makes it: -sennit-tls-report=FILE
//
//   main.cpp:31: serve(): the address of counter is from before yield() at line 28
//
// The pass follows the finished machine code. It finds the registers and stack slots that hold the thread
// pointer, an address made of it, or a value of libc's that depends only on the thread (errno's address,
// pthread_self()). It finds those that were set before a call that may switch. It reports the places where
// the program's source asks for the variable again, but gets such an old value. Those are known by lines, so
// a unit must have debug information (-gline-tables-only is enough).
//
// A call may switch, unless it is of libc's, or of a function of the unit whose calls cannot.
//
// Not reported: pointers that the program itself keeps; code that is compiled at the link (-flto).
#pragma once

namespace llvm {
class PassBuilder;
}

namespace sennit::compiler {

void add_tls_report(llvm::PassBuilder& builder);

}  // namespace sennit::compiler
