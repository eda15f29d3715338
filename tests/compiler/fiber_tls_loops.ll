; The address is read before a loop that holds no call which may switch, whatever else it writes; but not before an
; invoke that the loop follows at once.
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-fiber-tls,sennit-fiber-tls-hoist,verify -S %s | FileCheck %s
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-fiber-tls,sennit-fiber-tls-hoist -pass-remarks=sennit -disable-output %s 2>&1 | FileCheck %s --check-prefix REMARK
; REMARK: remark: {{.*}}moved the read of a thread-local address out of the loop
target triple = "x86_64-unknown-linux-gnu"

@x = internal thread_local global i32 0

declare void @anything()
declare void @reads_only() memory(read)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.assume(i1)
declare i32 @personality(...)

; CHECK-LABEL: define void @stores(
; CHECK-NEXT: call ptr @sennit.tls.x()
; CHECK-NEXT: br
; CHECK-NOT: sennit.tls
; CHECK: ret
define void @stores(ptr %p, i1 %c) {
  br label %loop
loop:
  store i32 1, ptr @x
  store i32 1, ptr %p
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 8, i1 false)
  call void @llvm.assume(i1 %c)
  call void @reads_only()
  br i1 %c, label %loop, label %end
end:
  ret void
}

; CHECK-LABEL: define void @calls(
; CHECK: loop:
; CHECK-NEXT: call ptr @sennit.tls.x()
define void @calls(i1 %c) {
  br label %loop
loop:
  store i32 1, ptr @x
  call void @anything()
  br i1 %c, label %loop, label %end
end:
  ret void
}

; The inner loop alone.
; CHECK-LABEL: define void @nested(
; CHECK: call void @anything()
; CHECK-NEXT: call ptr @sennit.tls.x()
; CHECK: inner:
; CHECK-NOT: sennit.tls
; CHECK: ret
define void @nested(i1 %c) {
  br label %outer
outer:
  call void @anything()
  br label %inner
inner:
  store i32 1, ptr @x
  br i1 %c, label %inner, label %next
next:
  br i1 %c, label %outer, label %end
end:
  ret void
}

; CHECK-LABEL: define void @after_an_invoke(
; CHECK-NEXT: invoke
; CHECK: loop:
; CHECK-NEXT: call ptr @sennit.tls.x()
define void @after_an_invoke(i1 %c) personality ptr @personality {
  invoke void @anything() to label %loop unwind label %thrown
loop:
  store i32 1, ptr @x
  br i1 %c, label %loop, label %end
end:
  ret void
thrown:
  %e = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %e
}

; A switch is inline assembly.
; CHECK-LABEL: define void @assembly(
; CHECK: loop:
; CHECK-NEXT: call ptr @sennit.tls.x()
define void @assembly(i1 %c) {
  br label %loop
loop:
  store i32 1, ptr @x
  call void asm sideeffect "", "~{memory}"()
  br i1 %c, label %loop, label %end
end:
  ret void
}
