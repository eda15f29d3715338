// Checks by a page in a program, in a shared object of its, and in both: all of them yield.
// RUN: %sennit_clangxx -O2 -fPIC -shared -DLIBRARY %s -o %t.page.so -mllvm -sennit-polls -mllvm -sennit-polls-check=page
// RUN: %sennit_clangxx -O2 -fPIC -shared -DLIBRARY %s -o %t.flag.so -mllvm -sennit-polls
// RUN: %sennit_clangxx -O2 %s -o %t.1 -mllvm -sennit-polls -mllvm -sennit-polls-check=page %t.page.so %library
// RUN: timeout 60 %t.1
// RUN: %sennit_clangxx -O2 %s -o %t.2 -mllvm -sennit-polls -mllvm -sennit-polls-check=page %t.flag.so %library
// RUN: timeout 60 %t.2
// RUN: %sennit_clangxx -O2 %s -o %t.3 -mllvm -sennit-polls %t.page.so %library
// RUN: timeout 60 %t.3
// By a flag, a program that loads one lets it see the runtime's; else the loader refuses it.
// RUN: %sennit_clangxx -O2 -DLOADED %s -o %t.5 -mllvm -sennit-polls -rdynamic %library
// RUN: timeout 60 %t.5 %t.flag.so
// RUN: %sennit_clangxx -O2 -DLOADED %s -o %t.6 -mllvm -sennit-polls %library
// RUN: not timeout 60 %t.6 %t.flag.so | grep 'undefined symbol: sennit_'
// One that finds no page in the program is refused by the loader, or has one: no check is without.
// RUN: %sennit_clangxx -O2 -DLOADED %s -o %t.4 -mllvm -sennit-polls -mllvm -sennit-polls-check=page -rdynamic %library
// RUN: timeout 60 %t.4 %t.page.so || timeout 60 %t.4 %t.page.so | grep 'static TLS'
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>

#if defined(LIBRARY)
extern "C" void spin(const std::atomic<int>& end) {
  while (end.load(std::memory_order_relaxed) == 0) {
  }
}
#else
#include "sennit/runtime.hpp"

#if defined(LOADED)
static void (*spin)(const std::atomic<int>&);
#else
extern "C" void spin(const std::atomic<int>& end);
#endif

int main([[maybe_unused]] int count, [[maybe_unused]] char** arguments) {
#if defined(LOADED)
  void* const library = dlopen(arguments[1], RTLD_NOW);
  if (library == nullptr)
    return std::puts(dlerror()), 1;
  spin = reinterpret_cast<void (*)(const std::atomic<int>&)>(dlsym(library, "spin"));
#endif
  std::atomic<int> end{0};
  sennit::runtime runtime({.workers = 1, .time_slice = std::chrono::milliseconds(1)});
  auto there = runtime.spawn([&] { spin(end); });
  auto here = runtime.spawn([&] {
    while (end.load(std::memory_order_relaxed) == 0) {
    }
  });
  auto last = runtime.spawn([&] { end = 1; });
  there.join();
  here.join();
  last.join();
}
#endif
