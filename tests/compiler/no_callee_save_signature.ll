; Functions that are called in a way for which LLVM's preserve_none has no place stay as they are.
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-no-callee-save,verify -S %s | FileCheck %s
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-no-callee-save -S %s | llc -verify-machineinstrs -o /dev/null
; RUN: opt -load-pass-plugin=%plugin -mtriple=aarch64-linux-gnu -passes=sennit-no-callee-save,verify -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK-NOT: preserve_none
; CHECK: define internal preserve_nonecc void @switches()
define internal void @switches() {
  call void asm sideeffect "1: /* sennit: a switch */ ", ""()
  ret void
}

; CHECK: define internal void @varargs(i32 %n, ...)
define internal void @varargs(i32 %n, ...) {
  call void @switches()
  ret void
}

; The convention hands over a pointer to the caller's own object, and no copy.
; CHECK: define internal void @byval(ptr byval([9 x i64]) %p)
define internal void @byval(ptr byval([9 x i64]) %p) {
  call void @switches()
  ret void
}

; CHECK: define internal void @nest(ptr nest %p)
define internal void @nest(ptr nest %p) {
  call void @switches()
  ret void
}

; CHECK: define internal void @swiftself(ptr swiftself %p)
define internal void @swiftself(ptr swiftself %p) {
  call void @switches()
  ret void
}

; CHECK: define internal void @swifterror(ptr swifterror %p)
define internal void @swifterror(ptr swifterror %p) {
  call void @switches()
  ret void
}

; CHECK: define internal void @swiftasync(ptr swiftasync %p)
define internal void @swiftasync(ptr swiftasync %p) {
  call void @switches()
  ret void
}

; CHECK: define internal preserve_nonecc void @ten_words(i128 %a, i32 %b, i64 %c, ptr %d, i64 %e, i64 %f, i64 %g, i64 %h, double %i)
define internal void @ten_words(i128 %a, i32 %b, i64 %c, ptr %d, i64 %e, i64 %f, i64 %g, i64 %h, double %i) {
  call void @switches()
  ret void
}

; The eleventh word would be in r11, with which -fstack-clash-protection probes the frame.
; CHECK: define internal void @eleven_words(i128 %a, i32 %b, i64 %c, ptr %d, i64 %e, i64 %f, i64 %g, i64 %h, double %i, i64 %j)
define internal void @eleven_words(i128 %a, i32 %b, i64 %c, ptr %d, i64 %e, i64 %f, i64 %g, i64 %h, double %i, i64 %j) {
  call void @switches()
  ret void
}

; CHECK: define internal void @naked()
define internal void @naked() naked {
  call void asm sideeffect "1: /* sennit: a switch */ ", ""()
  unreachable
}

; Either end of a musttail call has the convention of the other.
; CHECK: define internal void @musttail_from()
; CHECK: musttail call void @musttail_to()
; CHECK: define internal void @musttail_to()
define internal void @musttail_from() {
  call void @switches()
  musttail call void @musttail_to()
  ret void
}
define internal void @musttail_to() {
  call void @switches()
  ret void
}

; CHECK: define internal void @saves_all_for_its_callers()
define internal void @saves_all_for_its_callers() "no_caller_saved_registers" {
  call void @switches()
  ret void
}

; CHECK: define void @caller(
define void @caller(ptr %p) {
  %e = alloca swifterror ptr
  store ptr null, ptr %e
  call void (i32, ...) @varargs(i32 1, i32 2)
  call void @byval(ptr byval([9 x i64]) %p)
  call void @nest(ptr nest %p)
  call void @swiftself(ptr swiftself %p)
  call void @swifterror(ptr swifterror %e)
  call void @swiftasync(ptr swiftasync %p)
  call void @ten_words(i128 0, i32 0, i64 0, ptr %p, i64 0, i64 0, i64 0, i64 0, double 0.0)
  call void @eleven_words(i128 0, i32 0, i64 0, ptr %p, i64 0, i64 0, i64 0, i64 0, double 0.0, i64 0)
  call void @naked()
  call void @musttail_from()
  call void @saves_all_for_its_callers()
  ret void
}
