// Each pass counts what it changes, in every build: clang writes the counts to a file.
// RUN: %sennit_clang -mllvm -sennit-polls -mllvm -sennit-fiber-tls -O2 -S %s -o %t.s -Xclang -stats-file=%t.stats
// RUN: FileCheck %s < %t.stats
// Two checks: in the loop over the list, and before the call. One loop has a bound.
// CHECK-DAG: "sennit-fiber-tls.reads_hoisted": 1
// CHECK-DAG: "sennit-fiber-tls.reads_lowered": 1
// CHECK-DAG: "sennit-polls.checks_inserted": 2
// CHECK-DAG: "sennit-polls.loops_without_check": 1
// CHECK-DAG: "sennit-trip-counts.loops_bounded": 1
// CHECK-DAG: "sennit-unroll.loops_unrolled": 1
// Nothing is counted without the options.
// RUN: %sennit_clang -O2 -S %s -o %t.s -Xclang -stats-file=%t.none
// RUN: FileCheck %s --check-prefix NONE < %t.none
// NONE-NOT: sennit
struct list {
  struct list* next;
};

_Thread_local int variable;

unsigned length(struct list* list) {
  unsigned n = 0;
  for (; list; list = list->next)
    ++n;
  return n;
}

void bounded(volatile int* to) {
  for (unsigned i = 0; i < 100; ++i)
    *to = variable;
}

void other(void);
void calls(void) {
  other();
}
