// Sites, functions and units that save the same share one stub.
// RUN: %sennit_clang -O2 -c %s -o %t.one.o -mllvm -sennit-polls
// RUN: %sennit_clang -O2 -c %s -o %t.two.o -mllvm -sennit-polls -DOTHER
// RUN: %stock_clang -O1 -c %inputs/trash.c -o %t.trash.o
// RUN: %stock_clang %t.one.o %t.two.o %t.trash.o -o %t
// RUN: llvm-objdump -dr --no-show-raw-insn %t.one.o | FileCheck %s --check-prefix CALLS
// RUN: llvm-nm %t.one.o | FileCheck %s --check-prefix SYMBOLS
// RUN: llvm-nm %t | FileCheck %s --check-prefix SYMBOLS
// CALLS-COUNT-3: sennit_yield_none-0x4
// SYMBOLS-COUNT-1: sennit_yield_none
// SYMBOLS-NOT: sennit_yield_none
#if defined(OTHER)
#define main main_of_other
#define first first_of_other
#define more more_of_other
#define at at_of_other
#endif
volatile int more, at;
void first(void) {
  while (more)
    at = more;
}
int main(void) {
  while (more)
    at = 1;
  while (more)
    at = 2;
  return 0;
}
