; Every use of a thread-local variable reads its address, whether it asks the intrinsic or not; and what libc has that
; depends on the thread is no constant.
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-fiber-tls,verify -S %s | FileCheck %s
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-fiber-tls,sennit-fiber-tls,sennit-fiber-tls-lower,verify -S %s | FileCheck %s --check-prefix LOWERED
target triple = "x86_64-unknown-linux-gnu"

@x = internal thread_local global [4 x i32] zeroinitializer
@unused = internal thread_local global i32 0
@alias = internal thread_local alias i32, ptr @x

declare ptr @llvm.threadlocal.address.p0(ptr)

; CHECK-NOT: @sennit.tls.unused
; CHECK-LABEL: define i32 @direct()
; CHECK: [[A:%.*]] = call ptr @sennit.tls.x()
; CHECK: [[B:%.*]] = getelementptr {{.*}}[[A]]
; CHECK: load i32, ptr [[B]]
; LOWERED-LABEL: define i32 @direct()
; LOWERED: call ptr asm sideeffect "movq %fs:0, $0\0A\09leaq ${1:c}@tpoff($0), $0", "=r,i"(ptr @x)
define i32 @direct() {
  %v = load i32, ptr getelementptr (i8, ptr @x, i64 8)
  ret i32 %v
}

; CHECK-LABEL: define ptr @merged(
; CHECK: entry:
; CHECK: [[A:%.*]] = call ptr @sennit.tls.x()
; CHECK-NEXT: switch
; CHECK: phi ptr [ [[A]], %entry ], [ [[A]], %entry ], [ %p, %other ]
define ptr @merged(i32 %c, ptr %p) {
entry:
  switch i32 %c, label %other [ i32 1, label %end
                                i32 2, label %end ]
other:
  br label %end
end:
  %r = phi ptr [ @x, %entry ], [ @x, %entry ], [ %p, %other ]
  ret ptr %r
}

; CHECK-LABEL: define ptr @through_an_alias()
; CHECK: call ptr @sennit.tls.alias()
; LOWERED-LABEL: define ptr @through_an_alias()
; LOWERED: call ptr @sennit.tls.alias()
define ptr @through_an_alias() {
  %p = call ptr @llvm.threadlocal.address.p0(ptr @alias)
  ret ptr %p
}

; CHECK: declare ptr @__errno_location() [[CONST:#[0-9]+]]
declare ptr @__errno_location() nounwind willreturn memory(none)
; CHECK: declare ptr @another_location() [[OTHER:#[0-9]+]]
declare ptr @another_location() nounwind willreturn memory(none)
define ptr @errno_twice() {
  ; CHECK: call ptr @__errno_location() [[CONST]]
  %p = call ptr @__errno_location() nounwind willreturn memory(none)
  ret ptr %p
}

; CHECK-LABEL: define internal nonnull ptr @sennit.tls.x() {{#[0-9]+}} {
; CHECK-NEXT: [[A:%.*]] = call ptr @llvm.threadlocal.address.p0(ptr @x)
; CHECK-NEXT: [[B:%.*]] = call ptr asm "", "=r,0"(ptr [[A]])
; CHECK-NEXT: ret ptr [[B]]
; CHECK-DAG: attributes [[CONST]] = { nounwind willreturn memory(inaccessiblemem: read) }
; CHECK-DAG: attributes [[OTHER]] = { nounwind willreturn memory(none) }
