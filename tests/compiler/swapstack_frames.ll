; rbp and rbx are saved around a switch where they are what the function finds its frame by, and only there: an assembler
; statement that says it changes them is not believed by LLVM then. Elsewhere they are the allocator's, and given
; back to the caller.
; Where the function has unwind rules, the switch has its own.
; RUN: %sennit_clang %verify -Wno-override-module -O0 -S %s -o - | FileCheck %s --check-prefixes CHECK,RULES
; RUN: %sennit_clang %verify -Wno-override-module -O1 -S %s -o - | FileCheck %s
; RUN: %sennit_clang %verify -Wno-override-module -O2 -S %s -o - | FileCheck %s
; RUN: %sennit_clang %verify -Wno-override-module -O3 -fPIC -S %s -o - | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

declare ptr @sennit.swapstack(ptr)
declare void @use(ptr, ptr)

; CHECK-LABEL: no_frame_pointer:
; CHECK-DAG: pushq %rbp
; CHECK-DAG: pushq %rbx
; CHECK: movq %rdi, %rsp
; RULES-NEXT: .cfi_escape 0x16
; CHECK: movq %r9, (%rdi)
; CHECK: # sennit: a switch
; CHECK-NEXT: leaq 152(%rax), %rsp
; RULES-NEXT: .cfi_escape 0x90
; CHECK-DAG: popq %rbx
; CHECK-DAG: popq %rbp
; CHECK: retq
define void @no_frame_pointer(ptr %context) {
  %from = call ptr @sennit.swapstack(ptr %context)
  ret void
}

; CHECK-LABEL: frame_pointer:
; CHECK: movq %rsp, %rbp
; CHECK: movq %rdi, %rsp
; CHECK: movq %rbp, 8(%rdi)
; CHECK-NEXT: movq %r9, (%rdi)
; CHECK: # sennit: a switch
; CHECK-NEXT: movq 8(%rax), %rbp
; CHECK-NEXT: leaq 152(%rax), %rsp
; CHECK: retq
define void @frame_pointer(ptr %context) "frame-pointer"="all" {
  %from = call ptr @sennit.swapstack(ptr %context)
  ret void
}

; Dynamic and over-aligned: what rbx would be the base pointer for. LLVM does without where rbx is said to change.
; CHECK-LABEL: base_pointer:
; CHECK: andq $-64, %rsp
; CHECK: movq %rdi, %rsp
; CHECK: movq %rbp, 8(%rdi)
; CHECK-NEXT: movq %r9, (%rdi)
; CHECK: # sennit: a switch
; CHECK-NEXT: movq 8(%rax), %rbp
; CHECK-NEXT: leaq 152(%rax), %rsp
; CHECK-NOT: %rbx)
; CHECK: retq
define void @base_pointer(ptr %context, i64 %n) {
  %aligned = alloca [64 x i8], align 64
  %dynamic = alloca i8, i64 %n, align 16
  call void @use(ptr %aligned, ptr %dynamic)
  %from = call ptr @sennit.swapstack(ptr %context)
  call void @use(ptr %aligned, ptr %dynamic)
  ret void
}

; It does so under the C calling convention, not under those that the optimizer gives to internal functions.
; CHECK-LABEL: own_convention:
; CHECK: andq $-64, %rsp
; CHECK: movq %rsp, %rbx
; CHECK: movq %rdi, %rsp
; CHECK: movq %rbx, 16(%rdi)
; CHECK-NEXT: movq %rbp, 8(%rdi)
; CHECK-NEXT: movq %r9, (%rdi)
; CHECK: # sennit: a switch
; CHECK-NEXT: movq 8(%rax), %rbp
; CHECK-NEXT: movq 16(%rax), %rbx
; CHECK-NEXT: leaq 152(%rax), %rsp
; CHECK: retq
define fastcc void @own_convention(ptr %context, i64 %n) {
  %aligned = alloca [64 x i8], align 64
  %dynamic = alloca i8, i64 %n, align 16
  call void @use(ptr %aligned, ptr %dynamic)
  %from = call ptr @sennit.swapstack(ptr %context)
  call void @use(ptr %aligned, ptr %dynamic)
  ret void
}
