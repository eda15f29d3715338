; What the primitive cannot do is an error, and says so.
; RUN: not %sennit_clang -Wno-override-module -O0 -c %s -o /dev/null 2>&1 | FileCheck %s
; RUN: not %sennit_clang -Wno-override-module -O2 -c %s -o /dev/null 2>&1 | FileCheck %s
; RUN: not %sennit_clang -Wno-override-module -O2 -c %s -o /dev/null --target=riscv64-linux-gnu 2>&1 | FileCheck %s --check-prefix TARGET
; RUN: not %sennit_clang -Wno-override-module -O2 -c %s -o /dev/null --target=x86_64-linux-gnux32 2>&1 | FileCheck %s --check-prefix TARGET
; RUN: not opt -load-pass-plugin=%plugin -passes=sennit-swapstack %s -o /dev/null 2>&1 | FileCheck %s --check-prefix OPT
; OPT: error: sennit.newstack wants a ptr
; TARGET-COUNT-7: error: sennit.swapstack and sennit.newstack are for x86-64 and AArch64 (LP64, little-endian, ELF) only
; CHECK-DAG: error: sennit.newstack wants a ptr (the stack's top) and a ptr (the entry function), and returns a ptr
; CHECK-DAG: error: sennit.swapstack.nine wants a ptr (the context) and at most eight values
; CHECK-DAG: error: sennit.swapstack.wide wants
; CHECK-DAG: error: sennit.swapstack.order wants
; CHECK-DAG: error: sennit.swapstack.vector wants
; CHECK-DAG: error: sennit.swapstack does not switch SafeStack's
; CHECK-DAG: error: sennit.swapstack does not switch APX registers
; CHECK-DAG: error: sennit.swapstack can only be called
target triple = "x86_64-unknown-linux-gnu"

declare ptr @sennit.newstack(ptr)
declare {ptr, i64} @sennit.swapstack.nine(ptr, i64, i64, i64, i64, i64, i64, i64, i64, i64)
declare {ptr, i128} @sennit.swapstack.wide(ptr)
declare {i64, ptr} @sennit.swapstack.order(ptr)
declare <2 x i64> @sennit.swapstack.vector(ptr)
declare ptr @sennit.swapstack(ptr)

define void @wrong(ptr %context) {
  call ptr @sennit.newstack(ptr %context)
  call {ptr, i64} @sennit.swapstack.nine(ptr %context, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9)
  call {ptr, i128} @sennit.swapstack.wide(ptr %context)
  call {i64, ptr} @sennit.swapstack.order(ptr %context)
  call <2 x i64> @sennit.swapstack.vector(ptr %context)
  ret void
}

define void @other_stacks(ptr %context) safestack {
  call ptr @sennit.swapstack(ptr %context)
  ret void
}

define void @more_registers(ptr %context) "target-features"="+egpr" {
  call ptr @sennit.swapstack(ptr %context)
  ret void
}

define ptr @address() {
  ret ptr @sennit.swapstack
}
