// A lambda that is marked has no checks, nor has it as a pointer to a function: a handler of a signal, say.
// RUN: %sennit_clangxx -O0 -S %s -o - -mllvm -sennit-polls | FileCheck %s
// RUN: %sennit_clangxx -O2 -S %s -o - -mllvm -sennit-polls | FileCheck %s
// RUN: %sennit_clangxx -O2 -gline-tables-only -c %s -o %t.o -mllvm -sennit-polls -DVARIABLE 2>&1 | FileCheck %s --check-prefix VARIABLE
#include "sennit/no_yield.h"

using handler = void (*)(int);
handler now;
void other(int);

// CHECK-NOT: sennit_yield
// CHECK: no yield until here
// CHECK-NOT: sennit_yield
handler marked() {
  return [](int what) SENNIT_NO_YIELD {
    now(what);
    while (now != nullptr)
      other(what);
  };
}

#if defined(VARIABLE)
void wrongly_marked() {
  // VARIABLE: no_yield_lambdas.cpp:[[#@LINE+1]]:{{.*}}: warning: SENNIT_NO_YIELD marks a variable here, and no function: a lambda has it behind its parameters
  SENNIT_NO_YIELD const auto wrong = [](int what) { other(what); };
  wrong(1);
}
#endif
