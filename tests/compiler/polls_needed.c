// From a check in each block, those are removed that the limit does not need: of Figure 2 of Jaaskelainen
// 2008 that of the middle block, and all others where the function ends soon.
// RUN: rm -f %t && %sennit_clang -O1 -S %s -o %t.blocks.s -mllvm -sennit-polls -mllvm -sennit-polls-in=blocks -mllvm -sennit-polls-report=%t
// RUN: FileCheck %s --check-prefix BLOCKS < %t
// RUN: rm -f %t && %sennit_clang -O1 -S %s -o %t.s -mllvm -sennit-polls -mllvm -verify-machineinstrs -mllvm -sennit-polls-in=needed -mllvm -sennit-polls-report=%t
// RUN: FileCheck %s --check-prefix NEEDED < %t
// RUN: FileCheck %s < %t.s
// RUN: rm -f %t && %sennit_clang -O1 -S %s -o %t.ns.s -mllvm -sennit-polls -mllvm -sennit-polls-limit-ns=44 -mllvm -sennit-polls-in=needed -mllvm -sennit-polls-report=%t
// RUN: FileCheck %s --check-prefix SHORT < %t
volatile int in, out;

// Its path is longer than half of 44 cycles: callers need the other half.
// BLOCKS: {{^}}figure_2: 3 checks,
// NEEDED: {{^}}figure_2: 0 checks,
// SHORT: {{^}}figure_2: 1 checks,
void figure_2(int r2, int r3) {
  int r1 = r2 + r3;
  if (in)
    out = r1;  // the middle block
  r1 = in;
  r2 = in;
  out = r1 * r2;
}

// BLOCKS: {{^}}repeated: {{[3-9]}} checks,
// NEEDED: {{^}}repeated: 1 checks,
// CHECK-LABEL: {{^}}repeated:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK-NOT: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: .Lfunc_end
void repeated(int r2, int r3) {
  for (;;) {
    int r1 = r2 + r3;
    if (in)
      out = r1;
    r2 = in;
    r3 = in;
    out = r1 * r2;
  }
}

// What may recurse keeps its check, and so does a loop that nothing bounds.
// NEEDED: {{^}}recursive: {{[1-9]}} checks,
int recursive(int n) {
  if (n < 2)
    return in;
  return recursive(n - 1) + recursive(n - 2);
}
