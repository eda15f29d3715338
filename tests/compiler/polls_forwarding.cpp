// A function that only hands its arguments on, inside noexcept or try, has its check before the label that
// begins the call. Nowhere is a check between the labels of a call.
// RUN: %sennit_clangxx -O1 %verify -Werror -mllvm -sennit-polls -S %s -o - | FileCheck %s
// RUN: %sennit_clangxx -O2 %verify -Werror -mllvm -sennit-polls -S %s -o - | FileCheck %s
// RUN: %sennit_clangxx -O3 %verify -Werror -mllvm -sennit-polls -S %s -o - | FileCheck %s
// RUN: %sennit_clangxx -Os %verify -Werror -mllvm -sennit-polls -S %s -o - | FileCheck %s
// RUN: %sennit_clangxx -Oz %verify -Werror -mllvm -sennit-polls -S %s -o - | FileCheck %s
// RUN: %sennit_clangxx -O0 %verify -Werror -mllvm -sennit-polls -S %s -o /dev/null
// RUN: %sennit_clangxx %aarch64 -O2 %verify -Werror -mllvm -sennit-polls -S %s -o /dev/null
struct cleaned {
  ~cleaned();
};
void visit(void*);
bool more(int);

// CHECK-LABEL: _Z7forwardPv:
// CHECK: cmpb $0, %fs:sennit_yield_requested
// CHECK: .Ltmp{{[0-9]+}}:
// CHECK: call{{.*}}visit
void forward(void* p) noexcept {
  visit(p);
}

// CHECK-LABEL: _Z5triesPv:
// CHECK: cmpb $0, %fs:sennit_yield_requested
// CHECK: .Ltmp{{[0-9]+}}:
// CHECK: call{{.*}}visit
int tries(void* p) {
  try {
    visit(p);
  } catch (...) {
    return 1;
  }
  return 0;
}

// In a loop, too, of which the call is the whole body.
// CHECK-LABEL: _Z5loopsi:
// CHECK: cmpb $0, %fs:sennit_yield_requested
// CHECK: .Ltmp{{[0-9]+}}:
// CHECK-NOT: cmpb $0, %fs:sennit_yield_requested
// CHECK: call{{.*}}more
void loops(int n) {
  cleaned each;
  while (more(n)) {
  }
}
