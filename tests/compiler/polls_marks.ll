; What marks of trip counts prove of a loop, and what they do not: after whatever has become of the blocks.
; RUN: %sennit_clang -O1 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-tls=local-exec | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: bounded:
; CHECK-NOT: sennit_yield
define void @bounded(ptr %p) {
  call void asm sideeffect "# sennit: before loop 1", ""()
  br label %loop
loop:
  call void asm sideeffect "# sennit: round of loop 1 of 10 at most", ""()
  %more = load volatile i1, ptr %p
  br i1 %more, label %loop, label %end
end:
  ret void
}

; The loop was merged with the one around it: each time round it begins anew.
; CHECK-LABEL: begins_anew:
; CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
define void @begins_anew(ptr %p) {
  br label %loop
loop:
  call void asm sideeffect "# sennit: before loop 1", ""()
  call void asm sideeffect "# sennit: round of loop 1 of 10 at most", ""()
  %more = load volatile i1, ptr %p
  br i1 %more, label %loop, label %end
end:
  ret void
}

; Not each way round goes through the mark.
; CHECK-LABEL: other_way_round:
; CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
define void @other_way_round(ptr %p) {
  call void asm sideeffect "# sennit: before loop 1", ""()
  br label %loop
loop:
  %which = load volatile i1, ptr %p
  br i1 %which, label %marked, label %latch
marked:
  call void asm sideeffect "# sennit: round of loop 1 of 10 at most", ""()
  br label %latch
latch:
  %more = load volatile i1, ptr %p
  br i1 %more, label %loop, label %end
end:
  ret void
}

; The mark before it was lost, or is not this loop's.
; CHECK-LABEL: lost:
; CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
define void @lost(ptr %p) {
  call void asm sideeffect "# sennit: before loop 2", ""()
  br label %loop
loop:
  call void asm sideeffect "# sennit: round of loop 1 of 10 at most", ""()
  %more = load volatile i1, ptr %p
  br i1 %more, label %loop, label %end
end:
  ret void
}

; Ten times ten rounds are few, a thousand times a thousand are not: then one of the loops has a check.
; CHECK-LABEL: product:
; CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
; CHECK-NOT: cmpb $0, %fs:sennit_yield_requested@TPOFF
; CHECK: retq
define void @product(ptr %p) {
  call void asm sideeffect "# sennit: before loop 1", ""()
  br label %outer
outer:
  call void asm sideeffect "# sennit: round of loop 1 of 1000 at most", ""()
  call void asm sideeffect "# sennit: before loop 2", ""()
  br label %inner
inner:
  call void asm sideeffect "# sennit: round of loop 2 of 1000 at most", ""()
  %more = load volatile i1, ptr %p
  br i1 %more, label %inner, label %latch
latch:
  %again = load volatile i1, ptr %p
  br i1 %again, label %outer, label %end
end:
  ret void
}
