// Across units: the compile step says for which functions the option was given, and marks none; the link
// does. The link takes the plugin, and needs no option. An object that was compiled without links with the
// others.
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -flto -O2 -c %s -o %t.main.o
// RUN: llvm-dis %t.main.o -o - | FileCheck %s --check-prefix COMPILED
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -flto -O2 -c %inputs/lto_middle.c -o %t.middle.o
// RUN: %stock_clang -flto -O2 -c %inputs/lto_middle.c -o %t.stock.o
// RUN: %stock_clang -flto -fuse-ld=lld -Wl,--load-pass-plugin=%plugin -O2 %t.main.o %t.middle.o -o %t %library
// RUN: %t
// RUN: llvm-objdump -d --no-show-raw-insn --disassemble-symbols=middle,switches %t | FileCheck %s
// RUN: %stock_clang -flto -fuse-ld=lld -Wl,--load-pass-plugin=%plugin -O2 %t.main.o %t.stock.o -o %t %library
// RUN: %t
// RUN: llvm-objdump -d --no-show-raw-insn --disassemble-symbols=middle,switches %t | FileCheck %s --check-prefix STOCK
// RUN: %stock_clang -flto -fuse-ld=lld -O2 %t.main.o %t.middle.o -o %t %library
// RUN: %t
// RUN: llvm-objdump -d --no-show-raw-insn --disassemble-symbols=middle,switches %t | FileCheck %s --check-prefix SAVED
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -flto=thin -O2 -c %s -o %t.main.o
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -flto=thin -O2 -c %inputs/lto_middle.c -o %t.middle.o
// RUN: %stock_clang -flto=thin -fuse-ld=lld -Wl,--load-pass-plugin=%plugin -O2 %t.main.o %t.middle.o -o %t %library
// RUN: %t
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -ffat-lto-objects -flto -O2 -c %s -o %t.main.o
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -O2 -c %inputs/lto_middle.c -o %t.middle.o
// RUN: %stock_clang -O2 %t.main.o %t.middle.o -o %t %library
// RUN: %t
#include "Inputs/partner.h"

NOINLINE long middle(long value);
NOINLINE long in_dynamic_frame(long value);
long switches(long value);
long switches_too(long value);

// COMPILED-NOT: preserve_none
// COMPILED: "sennit-no-callee-save"

// CHECK: <switches>:
// CHECK-NOT: push{{.*}}r1[2-5]
// CHECK: <middle>:
// CHECK-NOT: push{{.*}}r1[2-5]

// STOCK: <switches>:
// STOCK-NOT: push{{.*}}r15
// STOCK: <middle>:
// STOCK: pushq %r15

// SAVED: <switches>:
// SAVED: push{{.*}}r15
NOINLINE long switches(long value) {
  return ask(value);
}

// This one has a caller with a base pointer, though no unit shows it.
NOINLINE long switches_too(long value) {
  return ask(value);
}

int main(void) {
  make_partner();
  long sum = 0;
  for (long i = 1; i <= 60; ++i)
    sum += middle(i) + in_dynamic_frame(i);
  return sum == 61 * 60 + 4 * 60 ? 0 : 1;
}
