; A caller is marked when each way to a return leads through a marked call, in any number of blocks and through any
; number of functions. A way that ends without a return does not count.
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-no-callee-save -S %s | FileCheck %s
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-no-callee-save,sennit-no-callee-save,verify -S %s | FileCheck %s
; RUN: opt -load-pass-plugin=%plugin -mtriple=riscv64-linux-gnu -passes=sennit-no-callee-save -S %s | FileCheck %s --check-prefix NONE
; NONE-NOT: preserve_none
target triple = "x86_64-unknown-linux-gnu"

declare void @throws() noreturn

; CHECK: define internal preserve_nonecc void @switches()
define internal void @switches() {
  call void asm sideeffect "jmp somewhere\0A1: /* sennit: a switch */ ", ""()
  ret void
}

; Sometimes is enough for the function that holds the switch.
; CHECK: define internal preserve_nonecc void @switches_sometimes(i1 %c)
define internal void @switches_sometimes(i1 %c) {
  br i1 %c, label %yes, label %no
yes:
  call void asm sideeffect "1: /* sennit: a switch */ ", ""()
  br label %no
no:
  ret void
}

; CHECK: define internal preserve_nonecc void @on_both_ways(i1 %c)
; CHECK: call preserve_nonecc void @switches()
; CHECK: call preserve_nonecc void @switches_sometimes(i1 %c)
define internal void @on_both_ways(i1 %c) {
  br i1 %c, label %one, label %other
one:
  call void @switches()
  ret void
other:
  call void @switches_sometimes(i1 %c)
  ret void
}

; CHECK: define internal preserve_nonecc void @or_throws(i1 %c)
define internal void @or_throws(i1 %c) {
  br i1 %c, label %one, label %other
one:
  call void @on_both_ways(i1 %c)
  ret void
other:
  call void @throws()
  unreachable
}

; CHECK: define internal void @on_one_way(i1 %c)
; CHECK: call preserve_nonecc void @switches()
define internal void @on_one_way(i1 %c) {
  br i1 %c, label %one, label %other
one:
  call void @switches()
  ret void
other:
  ret void
}

; CHECK: define internal preserve_nonecc void @in_a_loop(i1 %c)
define internal void @in_a_loop(i1 %c) {
  br label %loop
loop:
  call void @or_throws(i1 %c)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; CHECK: define internal void @perhaps_in_a_loop(i1 %c)
define internal void @perhaps_in_a_loop(i1 %c) {
  br i1 %c, label %loop, label %end
loop:
  call void @or_throws(i1 %c)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; CHECK: define internal preserve_nonecc void @was_fast()
define internal fastcc void @was_fast() {
  call void @switches()
  ret void
}

; CHECK: define internal void @never_returns()
define internal void @never_returns() {
  call void @throws()
  unreachable
}

; Another comment, and no switch.
; CHECK: define internal void @other_assembly()
define internal void @other_assembly() {
  call void asm sideeffect "/* sennit: not one */ ", ""()
  ret void
}

; CHECK: define void @seen_from_outside(i1 %c)
; CHECK: call preserve_nonecc void @in_a_loop(i1 %c)
define void @seen_from_outside(i1 %c) {
  call void @in_a_loop(i1 %c)
  call void @on_one_way(i1 %c)
  call void @perhaps_in_a_loop(i1 %c)
  call fastcc void @was_fast()
  call void @never_returns()
  call void @other_assembly()
  ret void
}
