// A lambda that is marked has no checks, nor has it as a pointer to a function: a handler of a signal, say.
// RUN: %sennit_clangxx -O0 -S %s -o - -mllvm -sennit-polls | FileCheck %s
// RUN: %sennit_clangxx -O2 -S %s -o - -mllvm -sennit-polls | FileCheck %s
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
