// A fiber that goes on on another thread sees that thread's variables, errno and pthread_self. Stock clang
// gives it the former one's.
// RUN: %stock_clangxx -O2 -fPIC %s %inputs/thread_locals.cpp -o %t %library && not %t | FileCheck %s --check-prefix STALE
// STALE-DAG: static: 201 instead of 101
// STALE-DAG: constructed: 230 instead of 130
// STALE-DAG: of another unit: 210 instead of 110
// STALE-DAG: errno: the former thread's
// STALE-DAG: pthread_self: the former thread's
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O1 %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O2 %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O3 -fno-pie -no-pie %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O2 -fPIC %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -Os -g %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O0 %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -mllvm -sennit-no-callee-save -O2 %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O2 -flto -fuse-ld=lld %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O2 -flto -fuse-ld=lld -Wl,--load-pass-plugin=%plugin %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O2 -flto=thin -fuse-ld=lld -Wl,--load-pass-plugin=%plugin %s %inputs/thread_locals.cpp -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O2 -fPIC -shared %inputs/thread_locals.cpp -o %t.so
// RUN: %sennit_clangxx -mllvm -sennit-fiber-tls -O2 %s %t.so -o %t %library && %t
// The report names them, and none with the option.
// RUN: rm -f %t.report && %stock_clangxx --config=%config -O2 -fPIC -g -c %s -o %t.o -mllvm -sennit-tls-report=%t.report
// RUN: FileCheck %s --check-prefix REPORT < %t.report
// REPORT-DAG: fiber_tls.cpp:[[@LINE+70]]: (anonymous namespace)::fiber(): the address of (anonymous namespace)::own is from before
// REPORT-DAG: the address of (anonymous namespace)::table is
// REPORT-DAG: the address of (anonymous namespace)::constructed is
// REPORT-DAG: whether this thread's variables have been initialized is
// REPORT-DAG: the address of of_another_unit is
// REPORT-DAG: the address of dynamic_of_another_unit is
// RUN: rm -f %t.report && touch %t.report && %sennit_clangxx -O2 -fPIC -g -c %s -o %t.o -mllvm -sennit-fiber-tls -mllvm -sennit-tls-report=%t.report && not grep . %t.report
#include <pthread.h>
#include <unistd.h>
#include <cerrno>

#include <atomic>
#include <cstdio>

#include "sennit/fiber.hpp"
#include "sennit/runtime.hpp"

extern thread_local int of_another_unit;
extern thread_local int dynamic_of_another_unit;

namespace {

thread_local int own = 1;
thread_local int table[8] = {1, 1, 1, 1, 1, 1, 1, 1};
volatile int anywhere = 5;

struct counter {
  int count = 20;
  counter() { count += 10; }
};
thread_local counter constructed;

int failures = 0;

void expect(const char* what, int got, int wanted) {
  if (got == wanted)
    return;
  std::printf("%s: %d instead of %d\n", what, got, wanted);
  ++failures;
}

void expect_new(const char* what, const void* got, const void* former) {
  if (got != former)
    return;
  std::printf("%s: the former thread's\n", what);
  ++failures;
}

// The child stays on this thread until its parent goes on on the other one.
inline void change_thread(sennit::fiber& child, std::atomic<bool>& moved) {
  child = sennit::spawn_now([&moved] {
    while (!moved.load())
      continue;
  });
  moved = true;
}

// All in one function, so that there is something to keep.
[[gnu::noinline]] void fiber() {
  std::atomic<bool> moved{false};
  sennit::fiber child;
  const int* const former_errno = &errno;
  const pthread_t former_thread = pthread_self();
  const int place = anywhere;
  own += 100;
  table[place] += 100;
  constructed.count += 100;
  of_another_unit += 100;
  dynamic_of_another_unit += 100;
  change_thread(child, moved);
  own += 100;
  table[place] += 100;
  constructed.count += 100;
  of_another_unit += 100;
  dynamic_of_another_unit += 100;
  expect("static", own, 101);
  expect("in a table", table[place], 101);
  expect("constructed", constructed.count, 130);
  expect("of another unit", of_another_unit, 110);
  expect("dynamic, of another unit", dynamic_of_another_unit, 140);
  expect_new("errno", &errno, former_errno);
  expect_new("pthread_self", reinterpret_cast<void*>(pthread_self()), reinterpret_cast<void*>(former_thread));
  child.join();
}

}  // namespace

int main() {
  sennit::runtime runtime({.workers = 2});
  runtime.run(fiber);
  return failures == 0 ? 0 : 1;
}
