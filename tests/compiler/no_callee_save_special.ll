; A function with Swift's parameters is not marked: LLVM 19 does not compile them under preserve_none. (One with `nest`
; is right without the guard, too, where caller and callee are marked together.)
; RUN: %sennit_clang -Wno-override-module -O1 -mllvm -sennit-no-callee-save %s -o %t && %t
; RUN: not %sennit_clang -Wno-override-module -O1 -mllvm -sennit-no-callee-save -mllvm -sennit-no-callee-save-without=special %s -o %t 2>&1 | FileCheck %s
; RUN: sed 's/alloca swifterror/alloca/; s/swifterror/nest/' %s > %t.nest.ll
; RUN: %sennit_clang -Wno-override-module -O1 -mllvm -sennit-no-callee-save -mllvm -sennit-no-callee-save-without=special %t.nest.ll -o %t && %t
; CHECK: Swift attributes can't be used with preserve_none
target triple = "x86_64-unknown-linux-gnu"

define internal void @fails(ptr swifterror %e, i64 %x) noinline {
  call void asm sideeffect "1: /* sennit: a switch */ ", "~{rbx},~{r12},~{r13},~{r14},~{r15}"()
  %value = inttoptr i64 %x to ptr
  store ptr %value, ptr %e
  ret void
}
define i32 @main(i32 %n, ptr %v) {
  %e = alloca swifterror ptr
  store ptr null, ptr %e
  %x = zext i32 %n to i64
  call void @fails(ptr swifterror %e, i64 %x)
  %p = load ptr, ptr %e
  %got = ptrtoint ptr %p to i64
  %same = icmp eq i64 %got, %x
  %r = select i1 %same, i32 0, i32 1
  ret i32 %r
}
