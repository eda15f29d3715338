; Only a function whose callers are all in sight is marked, and called by its own type and convention.
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-no-callee-save,verify -S %s | FileCheck %s
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-no-callee-save -S %s | llc -verify-machineinstrs -o /dev/null
target triple = "x86_64-unknown-linux-gnu"

@table = global ptr @in_a_table
@again = internal alias void (), ptr @has_an_alias
@llvm.used = appending global [1 x ptr] [ptr @is_used], section "llvm.metadata"

; CHECK-NOT: preserve_none
; CHECK: define internal preserve_nonecc void @switches()
define internal void @switches() {
  call void asm sideeffect "1: /* sennit: a switch */ ", ""()
  ret void
}

; CHECK: define void @external()
define void @external() {
  call void @switches()
  ret void
}

; CHECK: define weak hidden void @weak()
define weak hidden void @weak() {
  call void @switches()
  ret void
}

; CHECK: define internal void @in_a_table()
define internal void @in_a_table() {
  call void @switches()
  ret void
}

; CHECK: define internal void @has_an_alias()
define internal void @has_an_alias() {
  call void @switches()
  ret void
}

; CHECK: define internal void @is_used()
define internal void @is_used() {
  call void @switches()
  ret void
}

; CHECK: define internal void @is_passed()
define internal void @is_passed() {
  call void @switches()
  ret void
}

; CHECK: define internal void @called_by_another_type(i32 %n)
define internal void @called_by_another_type(i32 %n) {
  call void @switches()
  ret void
}

; CHECK: define internal void @called_by_another_convention()
define internal void @called_by_another_convention() {
  call void @switches()
  ret void
}

; CHECK: define internal void @has_a_convention()
; CHECK: define internal x86_regcallcc void @has_another_convention()
define internal void @has_a_convention() {
  call x86_regcallcc void @has_another_convention()
  ret void
}
define internal x86_regcallcc void @has_another_convention() {
  call void @switches()
  ret void
}

; CHECK: define internal void @called_indirectly(ptr %f)
; CHECK: call void %f()
define internal void @called_indirectly(ptr %f) {
  call void %f()
  ret void
}

declare void @takes(ptr)

; CHECK: define void @caller()
define void @caller() {
  call void @in_a_table()
  call void @has_an_alias()
  call void @is_used()
  call void @is_passed()
  call void @takes(ptr @is_passed)
  call void @called_by_another_type()
  call fastcc void @called_by_another_convention()
  call void @has_a_convention()
  call void @called_indirectly(ptr @takes)
  ret void
}
