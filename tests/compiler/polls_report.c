// The report counts the instructions of the longest way from check to check, rounds and known calls with
// them.
// RUN: rm -f %t && %sennit_clang -O2 -S %s -o %t.s -mllvm -sennit-polls -mllvm -sennit-polls-report=%t
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix CODE < %t.s
// RUN: rm -f %t && %sennit_clang -O2 -S %s -o %t.s -mllvm -sennit-polls -mllvm -sennit-polls-limit=1000000 -mllvm -sennit-polls-report=%t
// RUN: FileCheck %s --check-prefix MORE < %t
volatile int in, out;
void* memcpy(void* to, const void* from, unsigned long size);

// CODE-LABEL: straight:
// CODE: movl in(%rip), %eax
// CODE-NEXT: movl %eax, out(%rip)
// CODE-NEXT: retq
// CHECK: {{^}}straight: 0 checks, at most 3 instructions without, in 7 cycles{{$}}
__attribute__((noinline)) void straight(void) {
  out = in;
}

// One before it, four in each of 100 rounds, one behind.
// CODE-LABEL: rounds:
// CODE: movl $100, %eax
// CODE: movl in(%rip), %ecx
// CODE-NEXT: movl %ecx, out(%rip)
// CODE-NEXT: decl %eax
// CODE-NEXT: jne
// CODE: retq
// CHECK: {{^}}rounds: 0 checks, at most 402 instructions without, in 802 cycles{{$}}
__attribute__((noinline)) void rounds(void) {
#pragma clang loop unroll(disable)
  for (int i = 0; i < 100; ++i)
    out = in;
}

// Fifteen of its own, and those of what it calls, but memcpy's.
// CHECK: {{^}}calls: 0 checks, at most 420 instructions without, in {{[0-9]+}} cycles; calls memcpy{{$}}
void calls(char* to, const char* from, unsigned long size) {
  rounds();
  memcpy(to, from, size);
  straight();
}

// Too many for one way without a check; unless so many are allowed.
// CHECK: {{^}}many: 1 checks, at most {{[0-9]+}} instructions without, in {{[0-9]+}} cycles{{$}}
// MORE: {{^}}many: 0 checks, at most {{[0-9][0-9][0-9][0-9][0-9][0-9]}} instructions without, in {{[0-9]+}} cycles{{$}}
void many(void) {
#pragma clang loop unroll(disable)
  for (int i = 0; i < 50000; ++i)
    out = in;
}

// CHECK: {{^}}by_pointer: 1 checks, at most {{[0-9]+}} instructions without, in {{[0-9]+}} cycles; calls (pointer){{$}}
void by_pointer(void (*function)(void)) {
  while (in)
    function();
}
