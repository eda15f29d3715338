// Remarks name the loops that are split, those that need no check, and each check.
// RUN: %sennit_clang -mllvm -sennit-polls -O2 -S %s -o /dev/null -Rpass=sennit -Rpass-analysis=sennit 2>&1 | FileCheck %s
// Nothing is said without being asked for.
// RUN: %sennit_clang -mllvm -sennit-polls -O2 -S %s -o /dev/null 2>&1 | FileCheck %s --allow-empty --check-prefix QUIET
// QUIET-NOT: remark
volatile int in, out;

void split(unsigned n) {
  // CHECK-DAG: :[[#@LINE+1]]:{{[0-9]+}}: remark: split the loop into strips of {{[0-9]+}} iterations [-Rpass=sennit-strip-mine]
  for (unsigned i = 0; i < n; ++i)
    out = in;
}

void bounded(void) {
  // CHECK-DAG: :[[#@LINE+2]]:{{[0-9]+}}: remark: the loop has no check: it executes at most {{[0-9]+}} instructions [-Rpass-analysis=sennit-polls]
  for (unsigned i = 0; i < 100; ++i)
    out = in;
}

void other(void);

void calls(void) {
  // CHECK-DAG: :[[#@LINE+1]]:{{[0-9]+}}: remark: inserted a check; a yield saves 0 registers [-Rpass=sennit-polls]
  other();
}

// CHECK-DAG: :[[#@LINE+1]]:{{[0-9]+}}: remark: inserted a check; a yield saves 2 registers [-Rpass=sennit-polls]
void arguments_are_live(int (*function)(int), int argument) {
  out = function(argument);
}
