// A traced program writes the parts of blocks that it executes, and computes the same as without a trace.
// RUN: rm -f %t.parts && %sennit_clang -O1 -mno-red-zone -c %s -o %t.o -mllvm -verify-machineinstrs -mllvm -sennit-block-trace=%t.parts
// RUN: FileCheck %s < %t.parts
// RUN: %stock_clang -O2 -mgeneral-regs-only -c %traced_runtime -o %t.trace.o
// RUN: %stock_clang %t.o %t.trace.o -o %t.program && rm -f %t.out && touch %t.out
// RUN: env SENNIT_PARTS=%t.out %t.program
// RUN: od -A n -v -w4 -t u4 %t.out | sort -n | uniq -c | FileCheck %s --check-prefix COUNTS
//
// RUN: not %sennit_clang -O1 -c %s -o %t.o -mllvm -sennit-block-trace=%t.parts 2>&1 | FileCheck %s --check-prefix REFUSED
// REFUSED: error: -sennit-block-trace wants -mno-red-zone

// CHECK: {"block":true,"live":2,"operations":{{\[\[}}"alu",1,0,["RDI"],["RDI","RSI"]],["alu",0,0,["RAX"],["RDI"]],["jump",0,0,[],[]{{\]\]}},"part":12,"scratch":[2,1,1]}
// COUNTS-DAG: {{^ *1 +0$}}
// COUNTS-DAG: {{^ *1000 +12$}}
__attribute__((noinline)) static unsigned next(unsigned seed, const unsigned* add) {
  return (seed + *add) * 3;
}

static volatile unsigned in = 7;

int main(void) {
  unsigned seed = 1;
  unsigned add = in;
  for (int i = 0; i < 1000; ++i) {
    __asm__ volatile("" ::"r"(&add) : "memory");
    seed = next(seed, &add);
    double other = seed;
    if ((unsigned)(other + 0.5) != seed)
      return 2;
  }
  unsigned want = 1;
  for (int i = 0; i < 1000; ++i)
    want = (want + add) * 3;
  return seed == want ? 0 : 1;
}
