; A new context whose function is known when all is inlined is entered by a direct jump, on a first frame where
; backtraces end (Dolan 2013, section 3.3).
; RUN: %sennit_clang %verify -Wno-override-module -O2 -S %s -o - | FileCheck %s
; RUN: %sennit_clang %verify -Wno-override-module -O2 -mllvm -sennit-swapstack-direct=0 -S %s -o - | FileCheck %s --check-prefix OFF
; OFF-NOT: jmp entry
; RUN: %sennit_clang -Wno-override-module -O2 -S %s -o /dev/null -Rpass=sennit 2>&1 | FileCheck %s --check-prefix REMARK
; REMARK: remark: {{.*}}the switch jumps to entry [-Rpass=sennit-swapstack]
target triple = "x86_64-unknown-linux-gnu"

declare ptr @sennit.newstack(ptr, ptr)
declare {ptr, i64} @sennit.swapstack(ptr, i64)
declare ptr @sennit.swapstack.none(ptr)
declare void @elsewhere(ptr)

define internal void @entry(ptr %from, i64 %value) noreturn {
  br label %loop
loop:
  %next = phi ptr [%from, %0], [%again, %loop]
  %again = call ptr @sennit.swapstack.none(ptr %next)
  br label %loop
}

; CHECK-LABEL: known:
; CHECK: leaq -152(%rdi), %rax
; CHECK: jne [[BUSY:.*]]
; CHECK-NEXT: movq sennit_entered_root@GOTPCREL(%rip), %r10
; CHECK-NEXT: xorl %ebp, %ebp
; CHECK-NEXT: leaq 144(%rax), %rsp
; CHECK-NEXT: movq %r10, 144(%rax)
; CHECK-NEXT: jmp entry
; CHECK-NEXT: [[BUSY]]:
; CHECK-NOT: *(%rax)
; CHECK: retq
define i64 @known(ptr %top) {
  %context = call ptr @sennit.newstack(ptr %top, ptr @entry)
  %got = call {ptr, i64} @sennit.swapstack(ptr %context, i64 1)
  %value = extractvalue {ptr, i64} %got, 1
  ret i64 %value
}

define internal i64 @make_and_enter(ptr %top, ptr %function) alwaysinline {
  %context = call ptr @sennit.newstack(ptr %top, ptr %function)
  %got = call {ptr, i64} @sennit.swapstack(ptr %context, i64 2)
  %value = extractvalue {ptr, i64} %got, 1
  ret i64 %value
}

; CHECK-LABEL: known_by_inlining:
; CHECK: jmp entry
; CHECK: retq
define i64 @known_by_inlining(ptr %top) {
  %value = call i64 @make_and_enter(ptr %top, ptr @entry)
  ret i64 %value
}

; CHECK-LABEL: unknown:
; CHECK: jmpq *(%rax)
; CHECK: retq
define i64 @unknown(ptr %top, ptr %function) {
  %value = call i64 @make_and_enter(ptr %top, ptr %function)
  ret i64 %value
}

; Somebody may have resumed it between.
; CHECK-LABEL: no_longer_known:
; CHECK: jmpq *(%rax)
; CHECK: retq
define i64 @no_longer_known(ptr %top) {
  %context = call ptr @sennit.newstack(ptr %top, ptr @entry)
  call void @elsewhere(ptr %context)
  %got = call {ptr, i64} @sennit.swapstack(ptr %context, i64 1)
  %value = extractvalue {ptr, i64} %got, 1
  ret i64 %value
}

; In another object that is loaded at run time.
; CHECK-LABEL: not_ours:
; CHECK: jmpq *(%rax)
; CHECK: retq
define i64 @not_ours(ptr %top) {
  %value = call i64 @make_and_enter(ptr %top, ptr @elsewhere)
  ret i64 %value
}
