// A check that is missing is found: with each of the first ones of a function left out, compilation fails.
// RUN: %sennit_clang -O2 -c %s -o %t.o -mllvm -sennit-polls -DLOOP -DSECOND -DRECURSION -DTWO_ENTRIES
// RUN: not %sennit_clang -O2 -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-leave-out=1 -DLOOP 2>&1 | FileCheck %s --check-prefix LOOP
// RUN: not %sennit_clang -O2 -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-leave-out=2 -DSECOND 2>&1 | FileCheck %s --check-prefix SECOND
// RUN: not %sennit_clang -O2 -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-leave-out=1 -DRECURSION 2>&1 | FileCheck %s --check-prefix RECURSION
// RUN: not %sennit_clang -O2 -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-leave-out=1 -DTWO_ENTRIES 2>&1 | FileCheck %s --check-prefix ENTRIES
// RUN: not %sennit_clang -O0 -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-leave-out=1 -DTWO_ENTRIES 2>&1 | FileCheck %s --check-prefix ENTRIES
extern volatile int in, out;

#if defined(LOOP)
// LOOP: error: loop: a cycle has no check (block %bb.
void loop(void) {
  while (in)
    out = in;
}
#endif

#if defined(SECOND)
// In the first a check is left, and the last has a proved bound.
// SECOND: error: three: a cycle has no check (block %bb.
void three(void) {
  while (in)
    out = in;
  while (in)
    out = in + 1;
  for (int i = 0; i < 500; ++i)
    out = in;
}
#endif

#if defined(RECURSION)
// RECURSION: error: recursive: it may recurse without a check (block %bb.
int unknown(int n);
int recursive(int n) {
  if (in)
    return 1;
  return unknown(n - 1) * 3;
}
#endif

#if defined(TWO_ENTRIES)
// ENTRIES: error: two_entries: a cycle has no check (block %bb.
void two_entries(int inside) {
  if (inside)
    goto second;
first:
  if (in)
    return;
  out = 1;
second:
  if (in)
    return;
  out = 2;
  goto first;
}
#endif
