; The primitive for AArch64: the values in x1 to x4 and x25 to x28, the target in x5, the suspended context in x0. It is
; the library's switch, but for what it is not resumed for.
; RUN: %sennit_clang %aarch64 %verify -Wno-override-module -O2 -S %s -o - | FileCheck %s
; RUN: %sennit_clang %aarch64 %verify -Wno-override-module -O2 -fPIC -S %s -o - | FileCheck %s
; RUN: %sennit_clang %aarch64 %verify -Wno-override-module -O0 -c %s -o /dev/null
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-swapstack,verify -S %s | FileCheck %s --check-prefix IR
target triple = "aarch64-unknown-linux-gnu"

declare ptr @sennit.newstack(ptr, ptr)
declare {ptr, i64} @sennit.swapstack.one(ptr, i64)
declare {ptr, i64, i64, i64, i64, i64, i64, i64, i64} @sennit.swapstack.eight(ptr, i64, i64, i64, i64, i64, i64, i64, i64)
declare {ptr} @sennit.swapstack_raw.alone(ptr, i64, i64)

; IR-NOT: @sennit.

; CHECK-LABEL: one:
; CHECK: {{x30|lr}}
; CHECK: adr x9, [[RESUMED:.*]]
; CHECK-NEXT: sub sp, sp, #32
; CHECK: stp x9, x29, [sp]
; CHECK-NEXT: str x19, [sp, #16]
; CHECK: cbnz x10, [[BUSY:.*]]
; CHECK-NEXT: mov x0, sp
; CHECK-NEXT: ldp x16, x29, [x5]
; CHECK-NEXT: ldr x19, [x5, #16]
; CHECK-NEXT: add sp, x5, #32
; CHECK-NEXT: br x16
; CHECK-NEXT: [[BUSY]]:
; CHECK-NEXT: b sennit_swapstack_busy
; CHECK: [[RESUMED]]: // sennit: a switch
; CHECK: mov x0, x1
; CHECK: ret
define i64 @one(ptr %context, i64 %value) {
  %got = call {ptr, i64} @sennit.swapstack.one(ptr %context, i64 %value)
  %back = extractvalue {ptr, i64} %got, 1
  ret i64 %back
}

; What has come is passed on: only the context moves.
; CHECK-LABEL: eight:
; CHECK: mov x5, x0
; CHECK-NOT: {{x[1-4],|x2[5-8]}}
; CHECK: adr x9
; CHECK: br x16
; CHECK-NOT: {{x[1-4],|x2[5-8]}}
; CHECK: .size eight
define void @eight(ptr %context) {
  br label %round
round:
  %to = phi ptr [ %context, %0 ], [ %from, %round ]
  %a = phi i64 [ 0, %0 ], [ %a1, %round ]
  %b = phi i64 [ 0, %0 ], [ %b1, %round ]
  %c = phi i64 [ 0, %0 ], [ %c1, %round ]
  %d = phi i64 [ 0, %0 ], [ %d1, %round ]
  %e = phi i64 [ 0, %0 ], [ %e1, %round ]
  %f = phi i64 [ 0, %0 ], [ %f1, %round ]
  %g = phi i64 [ 0, %0 ], [ %g1, %round ]
  %h = phi i64 [ 0, %0 ], [ %h1, %round ]
  %got = call {ptr, i64, i64, i64, i64, i64, i64, i64, i64} @sennit.swapstack.eight(ptr %to, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h)
  %from = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 0
  %a1 = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 1
  %b1 = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 2
  %c1 = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 3
  %d1 = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 4
  %e1 = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 5
  %f1 = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 6
  %g1 = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 7
  %h1 = extractvalue {ptr, i64, i64, i64, i64, i64, i64, i64, i64} %got, 8
  br label %round
}

; CHECK-LABEL: raw:
; CHECK: str x19, [sp, #16]
; CHECK-NEXT: mov x0, sp
; CHECK-NOT: sennit_
; CHECK: ret
define void @raw(ptr %context, i64 %a, i64 %b) {
  %got = call {ptr} @sennit.swapstack_raw.alone(ptr %context, i64 %a, i64 %b)
  ret void
}

; The record is the library's.
; CHECK-LABEL: new:
; CHECK: sennit_enter_root
; CHECK: ret
define ptr @new(ptr %top, ptr %entry) {
  %context = call ptr @sennit.newstack(ptr %top, ptr %entry)
  ret ptr %context
}
