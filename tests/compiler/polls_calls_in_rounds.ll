; What is called in the rounds may run long: the proof counts on a mark there no more than who places the checks.
; RUN: %sennit_clang -O1 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-tls=local-exec | FileCheck %s
; RUN: not %sennit_clang -O1 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-leave-out=1 2>&1 | FileCheck %s --check-prefix LEFT-OUT
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: calls_in_rounds:
; CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
; LEFT-OUT: error: {{.*}}calls_in_rounds: a cycle has no check (block %bb.
declare i1 @called() nocallback
define void @calls_in_rounds() {
  call void asm sideeffect "# sennit: before loop 1", ""()
  br label %loop
loop:
  call void asm sideeffect "# sennit: round of loop 1 of 10 at most", ""()
  %more = call i1 @called()
  br i1 %more, label %loop, label %end
end:
  ret void
}
