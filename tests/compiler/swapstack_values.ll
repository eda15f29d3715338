; Values are handed over in the same registers in both directions, whatever their types: who is resumed in rax, who left
; in rdi, then rsi, rdx, rcx, r8 and r12 to r15. Nothing else is passed, and a result that is not used costs nothing.
; RUN: %sennit_clang %verify -Wno-override-module -O2 -S %s -o - | FileCheck %s
; RUN: %sennit_clang %verify -Wno-override-module -O2 -fPIC -S %s -o - | FileCheck %s
; RUN: %sennit_clang %verify -Wno-override-module -O0 -S %s -o /dev/null
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-swapstack,verify -S %s | FileCheck %s --check-prefix IR
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-swapstack,verify -S %s | llc -O2 -verify-machineinstrs -o /dev/null
target triple = "x86_64-unknown-linux-gnu"

declare ptr @sennit.newstack(ptr, ptr)
declare ptr @sennit.swapstack(ptr)
declare {ptr, i64} @sennit.swapstack.one(ptr, i64)
declare {ptr, double, i8, float, ptr} @sennit.swapstack.mixed(ptr, i32, ptr, double, float)
declare void @sennit.swapstack.memory(ptr sret({ptr, i64, i64}), ptr, i1)
declare {ptr} @sennit.swapstack_raw.alone(ptr, i64, i64)
declare {ptr, i64, i64, i64, i64, i64, i64, i64, i64} @sennit.swapstack.eight(ptr, i64, i64, i64, i64, i64, i64, i64, i64)
declare {ptr, i64} @sennit.swapstack.six(ptr, i64, i64, i64, i64, i64, i64)
declare ptr @sennit.newstack8(ptr, ptr)
declare i32 @__gxx_personality_v0(...)

; IR-NOT: @sennit.

; CHECK-LABEL: none:
; CHECK: movq %rdi, %rax
; CHECK-NOT: {{%(rsi|rdx|rcx|r8)}}
; CHECK: leaq [[RESUMED:.*]](%rip), %r9
; CHECK-NEXT: leaq -152(%rsp), %rdi
; CHECK-NEXT: movq %rdi, %rsp
; CHECK-NEXT: movq %r9, (%rdi)
; CHECK: jne [[BUSY:.*]]
; CHECK-NEXT: jmpq *(%rax)
; CHECK-NEXT: [[BUSY]]:
; CHECK-NEXT: jmp sennit_swapstack_busy@PLT
; CHECK: [[RESUMED]]:
; CHECK-NEXT: leaq 152(%rax), %rsp
; CHECK: movq %rdi, %rax
; CHECK: retq
define ptr @none(ptr %context) {
  %from = call ptr @sennit.swapstack(ptr %context)
  ret ptr %from
}

; The value is where it is to be: not a move.
; CHECK-LABEL: one:
; CHECK: movq %rdi, %rax
; CHECK-NOT: {{%(rsi|rdx|rcx|r8)}}
; CHECK: jmpq *(%rax)
; CHECK: leaq 152(%rax), %rsp
; CHECK-NOT: %rdi
; CHECK: movq %rsi, %rax
; CHECK: retq
define i64 @one(ptr %context, i64 %value) {
  %got = call {ptr, i64} @sennit.swapstack.one(ptr %context, i64 %value)
  %back = extractvalue {ptr, i64} %got, 1
  ret i64 %back
}

; CHECK-LABEL: mixed:
; CHECK-DAG: movl %edx, %esi
; CHECK-DAG: movd %xmm1, {{%.*}}
; CHECK-DAG: movq %xmm0, {{%.*}}
; CHECK: jmpq *(%rax)
; CHECK: leaq 152(%rax), %rsp
; CHECK-DAG: movq %rdi, (%r{{.*}})
; CHECK-DAG: movq %rsi, 8(%r{{.*}})
; CHECK-DAG: movb %dl, 16(%r{{.*}})
; CHECK-DAG: movl %ecx, 20(%r{{.*}})
; CHECK-DAG: movq %r8, 24(%r{{.*}})
; CHECK: retq
define void @mixed(ptr %out, ptr %context, i32 %a, ptr %b, double %c, float %d) {
  %got = call {ptr, double, i8, float, ptr} @sennit.swapstack.mixed(ptr %context, i32 %a, ptr %b, double %c, float %d)
  store {ptr, double, i8, float, ptr} %got, ptr %out
  ret void
}

; By `sret`, as a front end for C passes a large structure: in registers all the same.
; CHECK-LABEL: memory:
; CHECK: movl %esi, %esi
; CHECK: jmpq *(%rax)
; CHECK: leaq 152(%rax), %rsp
; CHECK-NOT: (%rsp)
; CHECK: leaq {{\(%rsi,%rdx\)|\(%rdx,%rsi\)}}, %rax
; CHECK: retq
define i64 @memory(ptr %context, i1 zeroext %flag) {
  %room = alloca {ptr, i64, i64}
  call void @sennit.swapstack.memory(ptr sret({ptr, i64, i64}) %room, ptr %context, i1 %flag)
  %first = getelementptr inbounds {ptr, i64, i64}, ptr %room, i64 0, i32 1
  %second = getelementptr inbounds {ptr, i64, i64}, ptr %room, i64 0, i32 2
  %a = load i64, ptr %first
  %b = load i64, ptr %second
  %sum = add i64 %a, %b
  ret i64 %sum
}

; What has come is passed on: no move between the landing and the next switch but that of the context.
; CHECK-LABEL: eight:
; CHECK: leaq 152(%rax), %rsp
; CHECK-NOT: {{%(rsi|rdx|rcx|r8|r12|r13|r14|r15)}}
; CHECK: movq %rdi, %rax
; CHECK-NOT: {{%(rsi|rdx|rcx|r8|r12|r13|r14|r15)}}
; CHECK: jmpq *(%rax)
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

; CHECK-LABEL: six:
; CHECK-DAG: movq %r9, %r12
; CHECK-DAG: movq {{.*}}(%rsp), %r13
; CHECK: jmpq *(%rax)
; CHECK: movq %rsi, %rax
; CHECK: retq
define i64 @six(ptr %context, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f) {
  %got = call {ptr, i64} @sennit.swapstack.six(ptr %context, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f)
  %back = extractvalue {ptr, i64} %got, 1
  ret i64 %back
}

; CHECK-LABEL: new8:
; CHECK: sennit_enter_root8@GOTPCREL(%rip)
; CHECK: retq
define ptr @new8(ptr %top, ptr %entry) {
  %context = call ptr @sennit.newstack8(ptr %top, ptr %entry)
  ret ptr %context
}

; Nothing of the library, not even its exception globals.
; CHECK-LABEL: raw:
; CHECK: movq %r9, (%rdi)
; CHECK-NEXT: jmpq *(%rax)
; CHECK-NOT: sennit_
; CHECK: retq
define void @raw(ptr %context, i64 %a, i64 %b) {
  %got = call {ptr} @sennit.swapstack_raw.alone(ptr %context, i64 %a, i64 %b)
  ret void
}

; A switch does not throw.
; IR-LABEL: define void @invoked
; IR-NOT: invoke
; IR: call {{.*}} asm sideeffect
; IR: ret void
define void @invoked(ptr %context) personality ptr @__gxx_personality_v0 {
  %from = invoke ptr @sennit.swapstack(ptr %context) to label %on unwind label %thrown
on:
  ret void
thrown:
  %caught = landingpad {ptr, i32} cleanup
  ret void
}

; The record is the library's: resume address, no frame, the function where rbx would be.
; CHECK-LABEL: new:
; CHECK: movq sennit_enter_root@GOTPCREL(%rip), [[ROOT:%.*]]
; CHECK-NEXT: movq [[ROOT]], -152(%rdi)
; CHECK-NEXT: movq $0, -144(%rdi)
; CHECK-NEXT: movq %rsi, -136(%rdi)
; CHECK-NEXT: retq
define ptr @new(ptr %top, ptr %entry) {
  %context = call ptr @sennit.newstack(ptr %top, ptr %entry)
  ret ptr %context
}
