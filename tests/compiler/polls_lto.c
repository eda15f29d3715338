// With -flto, thin or not, checks are placed at the link, which takes the plugin and no option. They are in
// the functions of units that were compiled with them, and in these wherever they are inlined; not in what
// comes from other units.
// RUN: %stock_clang -O1 -c %inputs/trash.c -o %t.trash.o
// RUN: %stock_clang -O2 -flto -c %inputs/polls_lto_stock.c -o %t.stock.o

// RUN: %sennit_clang -O2 -flto -c %s -o %t.main.o -mllvm -sennit-polls
// RUN: %sennit_clang -O2 -flto -c %inputs/polls_lto_other.c -o %t.other.o -mllvm -sennit-polls
// RUN: %link -flto %t.main.o %t.other.o %t.stock.o %t.trash.o -o %t
// RUN: %t 2>&1 | FileCheck %s --check-prefix PRINTS
// RUN: llvm-objdump -d --no-show-raw-insn %t | FileCheck %s --check-prefixes CODE,INLINED

// RUN: %sennit_clang -O2 -flto=thin -c %s -o %t.main.o -mllvm -sennit-polls
// RUN: %sennit_clang -O2 -flto=thin -c %inputs/polls_lto_other.c -o %t.other.o -mllvm -sennit-polls
// RUN: %stock_clang -O2 -flto=thin -c %inputs/polls_lto_stock.c -o %t.stock.o
// RUN: %link -flto=thin %t.main.o %t.other.o %t.stock.o %t.trash.o -o %t
// RUN: %t 2>&1 | FileCheck %s --check-prefix PRINTS
// RUN: llvm-objdump -d --no-show-raw-insn %t | FileCheck %s --check-prefixes CODE,INLINED

// Units of which nothing is called, or that have data alone.
// RUN: %sennit_clang -O2 -flto=thin -c %inputs/polls_lto_other.c -o %t.dead.o -mllvm -sennit-polls -DDATA_ALONE
// RUN: %sennit_clang -O2 -flto=thin -c %inputs/polls_lto_other.c -o %t.data.o -mllvm -sennit-polls -DDEAD
// RUN: %link -flto=thin %t.main.o %t.other.o %t.stock.o %t.dead.o %t.data.o %t.trash.o -o %t
// RUN: %t 2>&1 | FileCheck %s --check-prefix PRINTS

// Units that are not optimized, and those that hold machine code, too.
// RUN: %sennit_clang -O0 -flto -c %s -o %t.main.o -mllvm -sennit-polls
// RUN: %sennit_clang -O0 -flto -c %inputs/polls_lto_other.c -o %t.other.o -mllvm -sennit-polls
// RUN: %link -flto %t.main.o %t.other.o %t.stock.o %t.trash.o -o %t
// RUN: %t 2>&1 | FileCheck %s --check-prefix PRINTS
// RUN: llvm-objdump -d --no-show-raw-insn %t | FileCheck %s --check-prefix CODE
// RUN: %sennit_clang -O2 -flto -ffat-lto-objects -c %s -o %t.main.o -mllvm -sennit-polls
// RUN: %sennit_clang -O2 -c %inputs/polls_lto_other.c -o %t.other.o -mllvm -sennit-polls
// RUN: %stock_clang -O2 -c %inputs/polls_lto_stock.c -o %t.stock.o
// RUN: %stock_clang %t.main.o %t.other.o %t.stock.o %t.trash.o -o %t
// RUN: %t 2>&1 | FileCheck %s --check-prefix PRINTS
// RUN: llvm-objdump -d --no-show-raw-insn %t | FileCheck %s --check-prefix CODE

// A link without the plugin fails and says why. Where no unit has checks, it needs none.
// RUN: %sennit_clang -O2 -flto -c %s -o %t.main.o -mllvm -sennit-polls
// RUN: %sennit_clang -O2 -flto -c %inputs/polls_lto_other.c -o %t.other.o -mllvm -sennit-polls
// RUN: %stock_clang -O2 -flto -c %inputs/polls_lto_stock.c -o %t.stock.o
// RUN: not %stock_clang -O2 -flto -fuse-ld=lld %t.main.o %t.other.o %t.stock.o %t.trash.o -o %t 2>&1 | FileCheck %s --check-prefix WITHOUT
// WITHOUT: undefined symbol: (bitcode compiled with -sennit-polls has no checks yet: compile it with --config=sennit.cfg, or link it with -fuse-ld=lld -Wl,--load-pass-plugin=sennit_compiler.so)
// RUN: %sennit_clang -O2 -flto -c %s -o %t.none.o
// RUN: %stock_clang -O2 -flto -c %inputs/polls_lto_other.c -o %t.none2.o
// RUN: %stock_clang -O2 -flto -fuse-ld=lld %t.none.o %t.none2.o %t.stock.o %t.trash.o -o %t

// Options hold at the link: the proof, which fails where a check is left out, and the limit. Units that want
// different ones do not link.
// RUN: %sennit_clang -O2 -flto -c %s -o %t.left.o -mllvm -sennit-polls -mllvm -sennit-polls-leave-out=1
// RUN: %sennit_clang -O2 -flto -c %inputs/polls_lto_other.c -o %t.left2.o -mllvm -sennit-polls -mllvm -sennit-polls-leave-out=1
// RUN: not %link -flto %t.left.o %t.left2.o %t.stock.o %t.trash.o -o %t 2>&1 | FileCheck %s --check-prefix PROOF
// PROOF: a cycle has no check
// RUN: not %link -flto %t.left.o %t.other.o %t.stock.o %t.trash.o -o %t 2>&1 | FileCheck %s --check-prefix DIFFERENT
// DIFFERENT: 'sennit-polls-leave-out': IDs have conflicting values
// RUN: %sennit_clang -O2 -flto=thin -c %s -o %t.left.o -mllvm -sennit-polls -mllvm -sennit-polls-limit=64
// RUN: %sennit_clang -O2 -flto=thin -c %inputs/polls_lto_other.c -o %t.left2.o -mllvm -sennit-polls
// RUN: not %link -flto=thin -Wl,-mllvm,-import-instr-limit=0 %t.left.o %t.left2.o %t.stock.o %t.trash.o -o %t 2>&1 | FileCheck %s --check-prefix THIN
// THIN: -sennit-polls-limit is not the same in all units of a link

// The report goes on from unit to unit.
// RUN: rm -f %t.report
// RUN: %sennit_clang -O2 -flto -c %s -o %t.main.o -mllvm -sennit-polls -mllvm -sennit-polls-report=%t.report
// RUN: %sennit_clang -O2 -flto -c %inputs/polls_lto_other.c -o %t.other.o -mllvm -sennit-polls -mllvm -sennit-polls-report=%t.report
// RUN: %link -flto %t.main.o %t.other.o %t.stock.o %t.trash.o -o %t
// RUN: FileCheck %s --check-prefix REPORT < %t.report
// REPORT-DAG: bounded: 0 checks, at most {{[0-9]+}} instructions without, in {{[0-9]+}} cycles{{$}}
// REPORT-DAG: calls_bounded: 0 checks, at most {{[0-9]+}} instructions without, in {{[0-9]+}} cycles{{$}}

// In a shared object the flag's offset is loaded.
// RUN: %sennit_clang -O2 -flto -fPIC -c %inputs/polls_lto_other.c -o %t.other.o -mllvm -sennit-polls
// RUN: %link -flto -shared %t.other.o -o %t.so
// RUN: llvm-objdump -d --no-show-raw-insn --disassemble-symbols=count_to %t.so | FileCheck %s --check-prefix SHARED
// SHARED: cmpb $0x0, %fs:(%r{{..}})
#include <stdio.h>

int count_to(volatile int* most);  // with checks, of the other unit
int stock_count_to(volatile int* most);
int stock_inlined(volatile int* most);
int calls_bounded(volatile int* cells);

volatile int in = 5, cells[64];

// CODE-LABEL: <looks_on>:
// CODE: cmpb $0x0, %fs:
// CODE: retq
__attribute__((noinline)) int looks_on(void) {
  while (in > 5)
    ;
  return in;
}

// The other unit's loop is here, with its check.
// INLINED-LABEL: <inlines>:
// INLINED-NOT: call
// INLINED: cmpb $0x0, %fs:
// INLINED: retq
__attribute__((noinline)) int inlines(void) {
  return count_to(&in);
}

// That of a unit without checks has none here, nor where it is.
// INLINED-LABEL: <inlines_stock>:
// INLINED-NOT: call
// INLINED-NOT: cmpb $0x0, %fs:
// INLINED: retq
__attribute__((noinline)) int inlines_stock(void) {
  return stock_inlined(&in);
}

// CODE-LABEL: <stock_count_to>:
// CODE-NOT: cmpb $0x0, %fs:
// CODE: retq

// PRINTS: 5 5 10 10 20
// PRINTS: {{^[1-9][0-9]*}} yields
int main(void) {
  printf("%d %d %d %d %d\n", looks_on(), inlines(), inlines_stock(), stock_count_to(&in),
         calls_bounded(cells));
  fflush(stdout);
  return 0;
}
