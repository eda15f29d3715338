// Checks are in machine code: a unit that is compiled for the link's optimizer would have none, and is
// refused.
// RUN: not %sennit_clang -mllvm -sennit-polls -O2 -flto -c %s -o %t.o 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls -O0 -flto=thin -c %s -o %t.o 2>&1 | FileCheck %s
// RUN: %sennit_clang -O2 -flto -c %s -o %t.o
// CHECK: error: -sennit-polls places checks in machine code, which -flto leaves to the link: compile this without -flto
void nothing(void) {}
