// Bitcode has no checks yet. Where it is compiled without the plugin, the program does not link, and the
// linker names the remedy; the plugin places the checks, with -sennit-polls or without.
// RUN: %stock_clang -O1 -c %inputs/trash.c -o %t.trash.o
// RUN: %sennit_clang -O2 -mllvm -sennit-polls -emit-llvm -c %s -o %t.bc
// RUN: %stock_clang -O2 -c %t.bc -o %t.stock.o
// RUN: not %stock_clang -fuse-ld=lld %t.stock.o %t.trash.o -o %t 2>&1 | FileCheck %s --check-prefix WITHOUT
// RUN: llc -filetype=obj -relocation-model=pic %t.bc -o %t.llc.o
// RUN: not %stock_clang -fuse-ld=lld %t.llc.o %t.trash.o -o %t 2>&1 | FileCheck %s --check-prefix WITHOUT
// WITHOUT: undefined symbol: (bitcode compiled with -sennit-polls has no checks yet: compile it with --config=sennit.cfg, or link it with -fuse-ld=lld -Wl,--load-pass-plugin=sennit_compiler.so)

// RUN: %sennit_clang -O2 -c %t.bc -o %t.o && %stock_clang %t.o %t.trash.o -o %t
// RUN: llvm-objdump -d --no-show-raw-insn --disassemble-symbols=main %t | FileCheck %s
// RUN: %sennit_clang -O2 -mllvm -sennit-polls %verify -c %t.bc -o %t.o && %stock_clang %t.o %t.trash.o -o %t
// RUN: llvm-objdump -d --no-show-raw-insn --disassemble-symbols=main %t | FileCheck %s
// RUN: %t 2>&1 | FileCheck %s --check-prefix PRINTS
// CHECK: cmpb $0x0, %fs:
// CHECK: cmpb $0x0, %fs:
// CHECK-NOT: cmpb $0x0, %fs:

// So is bitcode that was not optimized, and text.
// RUN: %sennit_clang -O0 -mllvm -sennit-polls -emit-llvm -S %s -o %t.ll
// RUN: %stock_clang -O0 -c %t.ll -o %t.stock.o
// RUN: not %stock_clang -fuse-ld=lld %t.stock.o %t.trash.o -o %t 2>&1 | FileCheck %s --check-prefix WITHOUT
// RUN: %sennit_clang -O2 -c %t.ll -o %t.o && %stock_clang %t.o %t.trash.o -o %t && %t 2>&1 | FileCheck %s --check-prefix PRINTS

// An object compiled in one step does not name what is missing.
// RUN: %sennit_clang -O2 -mllvm -sennit-polls -c %s -o %t.o && llvm-nm %t.o | FileCheck %s --check-prefix DIRECT
// DIRECT-NOT: bitcode
#include <stdio.h>

volatile int in = 5;

// PRINTS: 95
// PRINTS: {{^[1-9][0-9]*}} yields
int main(void) {
  int n = 0;
  for (; in < 100; in = in + 1)
    ++n;
  printf("%d\n", n);
  fflush(stdout);
  return 0;
}
