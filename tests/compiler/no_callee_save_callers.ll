; What may need a base pointer is not marked, and calls nobody who is: LLVM would take rbx or x19 to be kept.
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-no-callee-save,verify -S %s | FileCheck %s
; RUN: opt -load-pass-plugin=%plugin -mtriple=aarch64-linux-gnu -passes=sennit-no-callee-save,verify -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK-NOT: preserve_none
; CHECK: define internal preserve_nonecc void @switches()
define internal void @switches() {
  call void asm sideeffect "1: /* sennit: a switch */ ", ""()
  ret void
}

; One caller is enough; and what those call that are not marked for it may be.
; CHECK: define internal void @called_by_dynamic()
; CHECK: call preserve_nonecc void @switches()
define internal void @called_by_dynamic() {
  call void @switches()
  ret void
}
define void @also_calls() {
  call void @called_by_dynamic()
  ret void
}
; CHECK: define internal void @dynamic(i64 %n)
; CHECK: call void @called_by_dynamic()
define internal void @dynamic(i64 %n) {
  %p = alloca i8, i64 %n
  call void @called_by_dynamic()
  ret void
}
define void @external(i64 %n) {
  call void @dynamic(i64 %n)
  ret void
}

; A local variable of known size, but in a loop.
; CHECK: define internal void @called_from_a_loop()
define internal void @called_from_a_loop() {
  call void @switches()
  ret void
}
define void @alloca_in_a_loop(i1 %c) {
  br label %loop
loop:
  %p = alloca i64
  call void @called_from_a_loop()
  br i1 %c, label %loop, label %end
end:
  ret void
}

; Of a sanitizer that moves local variables, later than this pass.
; CHECK: define internal void @called_by_sanitized()
define internal void @called_by_sanitized() {
  call void @switches()
  ret void
}
define void @sanitized() sanitize_address {
  call void @called_by_sanitized()
  ret void
}

; CHECK: define internal void @called_by_assembler_of_stacks()
define internal void @called_by_assembler_of_stacks() {
  call void @switches()
  ret void
}
define void @clobbers_stack_pointer() {
  call void asm sideeffect "", "~{rsp}"()
  call void @called_by_assembler_of_stacks()
  ret void
}

; CHECK: define internal void @called_unoptimized()
define internal void @called_unoptimized() {
  call void @switches()
  ret void
}
define void @unoptimized() noinline optnone {
  call void @called_unoptimized()
  ret void
}

; CHECK: define internal preserve_nonecc void @called_by_over_aligned()
define internal void @called_by_over_aligned() {
  call void @switches()
  ret void
}
define void @over_aligned() {
  %p = alloca [64 x i8], align 64
  call void @called_by_over_aligned()
  ret void
}
