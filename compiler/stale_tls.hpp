// What is thread-local, and wrong after a switch, in code as stock clang makes it: -sennit-tls-report=FILE
//
//   main.cpp:31: serve(): the address of counter is from before yield() at line 28
//
// The finished machine code is followed: which registers and stack slots hold the thread pointer, or an
// address made of it, or what libc says of the thread alone (errno's address, pthread_self()); which of them
// were there before a call that may switch; and where the program, in its source, asks for the variable anew,
// but gets one of those. That is told by lines, so a unit must have debug information (-gline-tables-only is
// enough).
//
// A call may switch, unless it is of libc's, or of a function of the unit whose calls cannot.
//
// Not told: what a program keeps itself in a pointer; what is compiled at the link (-flto).
#pragma once

namespace llvm {
class PassBuilder;
}

namespace sennit::compiler {

void add_tls_report(llvm::PassBuilder& builder);

}  // namespace sennit::compiler
