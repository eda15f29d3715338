// The paper's example (Dolan 2013, section 3.4), before and after. x is spilled once before the loop and
// restored once after it. The constant is loaded anew after the switch rather than kept: the library's
// switch, which saves rbx itself, is given the constant there, and saves and restores it in each round.
// RUN: %sennit_clang %verify -O2 -S %s -o - | FileCheck %s
// RUN: %stock_clang -O2 -S %s -o - | FileCheck %s --check-prefix BEFORE
// CHECK-LABEL: foo:
// CHECK: movl %edi, [[X:-?[0-9]*\(%rsp\)]]
// CHECK: [[LOOP:.LBB.*]]: # =>This Inner Loop
// CHECK: movabsq $81985529216486895,
// CHECK-NOT: {{rbp|rbx|push}}
// CHECK: jmpq *(%rax)
// CHECK-NOT: {{rbp|rbx}}
// CHECK: movabsq $81985529216486895,
// CHECK-NOT: {{rbp|rbx}}
// CHECK: jne [[LOOP]]
// CHECK: movl [[X]], %edi
// CHECK: jmp other_function
//
// BEFORE-LABEL: foo:
// BEFORE: movl %edi, [[X:-?[0-9]*\(%rsp\)]]
// BEFORE: movabsq $81985529216486895, %rbp
// BEFORE: [[LOOP:.LBB.*]]: # =>This Inner Loop
// BEFORE: pushq %rbp
// BEFORE: jmpq *(%rax)
// BEFORE: movq 8(%rax), %rbp
// BEFORE: jne [[LOOP]]
// BEFORE: movl [[X]], %edi
// BEFORE: jmp other_function
#include "sennit/swapstack.h"

#define LARGE_CONST 0x0123456789abcdefL

extern int some_condition;
extern long global_var;
extern void other_function(int x);

SENNIT_SWAPSTACK(yield, sennit_nothing, sennit_nothing)

void foo(int x, sennit_context other) {
  while (some_condition) {
    long local = LARGE_CONST;
    global_var = local;
    other = yield(other, SENNIT_NOTHING).from;
    global_var = local;
  }
  other_function(x);
}
