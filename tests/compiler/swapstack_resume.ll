; Branches that end in a switch are resumed where they meet: no jump follows the resumption (Dolan 2013, section 3.2).
; RUN: %sennit_clang %verify -Wno-override-module -O2 -S %s -o - | FileCheck %s
; RUN: %sennit_clang %verify -Wno-override-module -O2 -mllvm -sennit-swapstack-fold=0 -S %s -o - | FileCheck %s --check-prefix OFF
; OFF-LABEL: branches:
; OFF: # sennit: a switch
; OFF-NEXT: leaq 152(%rax), %rsp
; OFF-NEXT: .cfi_escape
; OFF: #NO_APP
; OFF-NEXT: jmp
; OFF: # sennit: a switch
; OFF-LABEL: someone_falls_in:
target triple = "x86_64-unknown-linux-gnu"

declare {ptr, i64} @sennit.swapstack(ptr, i64)
declare void @code(i32)

; CHECK-LABEL: branches:
; CHECK: callq code@PLT
; CHECK: leaq [[RESUMED:.Lsennit_resumed_.*]](%rip), %r9
; CHECK: jmpq *(%rax)
; CHECK-NOT: leaq 152(%rax), %rsp
; CHECK: callq code@PLT
; CHECK: leaq [[RESUMED]](%rip), %r9
; CHECK: jmpq *(%rax)
; CHECK-NOT: jmp .L
; CHECK: [[RESUMED]]:
; CHECK-NEXT: leaq 152(%rax), %rsp
; CHECK-NOT: jmp
; CHECK: callq code@PLT
; CHECK: retq
define i64 @branches(i1 %condition, ptr %context1, ptr %context2) {
  br i1 %condition, label %then, label %else
then:
  call void @code(i32 1)
  %got1 = call {ptr, i64} @sennit.swapstack(ptr %context1, i64 1)
  br label %next
else:
  call void @code(i32 2)
  %got2 = call {ptr, i64} @sennit.swapstack(ptr %context2, i64 2)
  br label %next
next:
  %got = phi {ptr, i64} [%got1, %then], [%got2, %else]
  %value = extractvalue {ptr, i64} %got, 1
  call void @code(i32 3)
  ret i64 %value
}

; With a frame pointer, which is loaded once, too.
; CHECK-LABEL: frame_pointer:
; CHECK: movq %rbp, 8(%rdi)
; CHECK: movq %rbp, 8(%rdi)
; CHECK: .Lsennit_resumed_{{.*}}:
; CHECK-NEXT: movq 8(%rax), %rbp
; CHECK-NEXT: leaq 152(%rax), %rsp
; CHECK-NOT: 8(%rax), %rbp
; CHECK: jmp code@PLT
define void @frame_pointer(i1 %condition, ptr %context1, ptr %context2) "frame-pointer"="all" {
  br i1 %condition, label %then, label %else
then:
  %got1 = call {ptr, i64} @sennit.swapstack(ptr %context1, i64 1)
  br label %next
else:
  call void @code(i32 2)
  %got2 = call {ptr, i64} @sennit.swapstack(ptr %context2, i64 2)
  br label %next
next:
  call void @code(i32 3)
  ret void
}

; Only one is resumed; the other falls into what both go on with.
; CHECK-LABEL: someone_falls_in:
; CHECK-NOT: .Lsennit_resumed
; CHECK: # sennit: a switch
; CHECK-NOT: .Lsennit_resumed
define void @someone_falls_in(i1 %condition, ptr %context) {
  call void @code(i32 1)
  br i1 %condition, label %then, label %next, !prof !0
then:
  %got = call {ptr, i64} @sennit.swapstack(ptr %context, i64 1)
  br label %next
next:
  call void @code(i32 3)
  ret void
}

; A loop whose rounds end in a switch: it is entered by a jump over the landing, and no jump is in it.
; CHECK-LABEL: loop:
; CHECK: jmp [[BODY:.LBB.*]]
; CHECK: [[RESUMED:.Lsennit_resumed_[0-9_]*]]:
; CHECK-NEXT: leaq 152(%rax), %rsp
; CHECK-NOT: {{jmp|nop|p2align}}
; CHECK: [[BODY]]:
; CHECK: leaq [[RESUMED]](%rip), %r9
; CHECK: jmpq *(%rax)
; CHECK-NOT: jmp .LBB
; CHECK-LABEL: two_ways_round:
define void @loop(ptr %first, i64 %value) {
  br label %round
round:
  %context = phi ptr [%first, %0], [%next, %round]
  %words = phi i64 [%value, %0], [%word, %round]
  %got = call {ptr, i64} @sennit.swapstack(ptr %context, i64 %words)
  %next = extractvalue {ptr, i64} %got, 0
  %word = extractvalue {ptr, i64} %got, 1
  br label %round
}

; Of two ways round, the one without a switch jumps over the landing, too, or nothing is folded.
; CHECK: jmp [[ROUND:.LBB.*]]
; CHECK: [[RESUMED:.Lsennit_resumed_[0-9_]*]]:
; CHECK-NEXT: leaq 152(%rax), %rsp
; CHECK: [[ROUND]]:
; CHECK: jn{{.*}} [[ROUND]]
; CHECK: leaq [[RESUMED]](%rip), %r9
define void @two_ways_round(ptr %context) {
  br label %round
round:
  %condition = call i1 @ask()
  br i1 %condition, label %round, label %switches
switches:
  %got = call {ptr, i64} @sennit.swapstack(ptr %context, i64 1)
  br label %round
}

declare i1 @ask()

!0 = !{!"branch_weights", i32 1, i32 1000}
