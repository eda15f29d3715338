; A program of no front end's but IR alone: the paper's generator of ten even numbers (Dolan 2013, section 4), and a
; pair of contexts that keep no invariant of the library. Its exit status is the number of what went wrong.
; RUN: %sennit_clang %verify -Wno-override-module -O0 %s -o %t %library && timeout 60 %t
; RUN: %sennit_clang %verify -Wno-override-module -O2 %s -o %t %library && timeout 60 %t
; RUN: %sennit_clang %verify -Wno-override-module -O2 -fPIC %s -o %t %library && timeout 60 %t
; RUN: opt -load-pass-plugin=%plugin -passes=sennit-swapstack %s | llc -O2 -relocation-model=pic -verify-machineinstrs -filetype=obj -o %t.o
; RUN: %stock_clang %t.o -o %t %library && timeout 60 %t
target triple = "x86_64-unknown-linux-gnu"

declare ptr @sennit.newstack(ptr, ptr)
declare {ptr, i32} @sennit.swapstack.next(ptr)
declare ptr @sennit.swapstack.yield(ptr, i32)
declare {ptr, double, i64} @sennit.swapstack_raw.down(ptr, i64, double)

define internal void @evens(ptr %user) noinline {
  br label %loop
loop:
  %context = phi ptr [%user, %0], [%again, %loop]
  %i = phi i32 [0, %0], [%next, %loop]
  %twice = shl i32 %i, 1
  %value = add i32 %twice, 42
  %again = call ptr @sennit.swapstack.yield(ptr %context, i32 %value)
  %next = add i32 %i, 1
  br label %loop
}

define internal void @turns_round(ptr %user, i64 %first, i64 %second) noinline {
  br label %loop
loop:
  %context = phi ptr [%user, %0], [%again, %loop]
  %integer = phi i64 [%first, %0], [%integer.next, %loop]
  %bits = phi i64 [%second, %0], [%bits.next, %loop]
  %real = bitcast i64 %bits to double
  %got = call {ptr, double, i64} @sennit.swapstack_raw.down(ptr %context, i64 %bits, double %real)
  %again = extractvalue {ptr, double, i64} %got, 0
  %first.got = extractvalue {ptr, double, i64} %got, 1
  %integer.next = bitcast double %first.got to i64
  %bits.next = extractvalue {ptr, double, i64} %got, 2
  br label %loop
}

define i32 @main() {
  %stack = alloca [16384 x i8], align 16
  %top = getelementptr i8, ptr %stack, i64 16384
  %generator = call ptr @sennit.newstack(ptr %top, ptr @evens)
  br label %ten
ten:
  %context = phi ptr [%generator, %0], [%from, %ten]
  %i = phi i32 [0, %0], [%i.next, %ten]
  %sum = phi i32 [0, %0], [%sum.next, %ten]
  %got = call {ptr, i32} @sennit.swapstack.next(ptr %context)
  %from = extractvalue {ptr, i32} %got, 0
  %value = extractvalue {ptr, i32} %got, 1
  %sum.next = add i32 %sum, %value
  %i.next = add i32 %i, 1
  %more = icmp ult i32 %i.next, 10
  br i1 %more, label %ten, label %other
other:
  ; 42 + 44 + ... + 60
  %even = icmp eq i32 %sum.next, 510
  %raw = call ptr @sennit.newstack(ptr %top, ptr @turns_round)
  %back = call {ptr, double, i64} @sennit.swapstack_raw.down(ptr %raw, i64 7, double 0x7ff4000000000001)
  %real = extractvalue {ptr, double, i64} %back, 1
  %word = extractvalue {ptr, double, i64} %back, 2
  %real.bits = bitcast double %real to i64
  %same.real = icmp eq i64 %real.bits, u0x7ff4000000000001
  %same.word = icmp eq i64 %word, u0x7ff4000000000001
  %same = and i1 %same.real, %same.word
  %wrong1 = select i1 %even, i32 0, i32 1
  %wrong2 = select i1 %same, i32 0, i32 2
  %wrong = or i32 %wrong1, %wrong2
  ret i32 %wrong
}
