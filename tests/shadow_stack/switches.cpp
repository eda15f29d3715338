// What the processor of processor.cpp runs: switches of all kinds, calls and returns between them, frames
// that are left by exceptions or for good. With an argument: a bare switch, which no build accompanies.
#include <cstdio>
#include <stdexcept>

#include "sennit/become.hpp"
#include "sennit/coroutine.hpp"
#include "sennit/detail/arch/context.h"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good)
    return;
  std::printf("not so: %s\n", what);
  ++failures;
}

[[gnu::noinline]] void walk(sennit::generator<int>::yielder& yield, int depth) {
  if (depth > 0)
    walk(yield, depth - 1);
  yield(depth);
}

void generators() {
  int sum = 0;
  for (const int depth : sennit::generator<int>([](auto& yield) { walk(yield, 5); }))
    sum += depth;
  check(sum == 15, "a generator");
  for (const int depth : sennit::generator<int>([](auto& yield) { walk(yield, 5); }))
    if (depth == 2)
      break;  // the others are unwound
  sennit::coroutine<int(int)> thrower([](auto& self, int first) -> int {
    const int second = self.yield(first + 1);
    throw std::runtime_error(second == 5 ? "five" : "not five");
  });
  check(thrower(1) == 2, "a coroutine");
  try {
    thrower(5);
    check(false, "an exception");
  } catch (const std::runtime_error& error) {
    check(error.what()[0] == 'f', "an exception's text");
  }
}

[[gnu::noinline]] void yield_deep(int depth) {
  if (depth > 0)
    yield_deep(depth - 1);
  sennit::local::this_fiber::yield();
}

void fibers() {
  using namespace sennit::local;
  runtime().run([] {
    int ended = 0;
    for (int round = 0; round < 2; ++round) {  // the stacks are used again
      auto first = spawn([&] {
        yield_deep(3);
        for (const int depth : sennit::generator<int>([](auto& yield) { walk(yield, 2); }))
          yield_deep(depth);
        ++ended;
      });
      auto second = spawn([&] {
        try {
          yield_deep(5);
          throw 1;
        } catch (int) {
          yield_deep(2);  // with an exception that is being handled
        }
        ++ended;
      });
      auto third = spawn([&] {
        yield_deep(1);
        return sennit::become(sennit::this_fiber::yielding(), [&ended] { ++ended; });
      });
      auto fourth = spawn([&] {
        yield_deep(1);
        sennit::become_now(sennit::this_fiber::yielding(), [&ended] { ++ended; });
      });
      first.join();
      second.join();
      third.join();
      fourth.join();
    }
    check(ended == 8, "fibers");
  });
}

sennit_context host;
sennit_context guest;

[[gnu::noinline]] void go_back() {
  guest = sennit_swapstack(host, 0).from;
  __asm__ volatile("");
}
void enter_bare(sennit_context from, std::uintptr_t, std::uintptr_t, std::uintptr_t,
                std::uintptr_t) noexcept {
  host = from;
  for (;;)
    go_back();
}
[[gnu::noinline]] void switch_barely() {
  alignas(16) static char stack[16 * 1024];
  sennit_swapstack(sennit_newstack(stack + sizeof stack, enter_bare), 0);
  __asm__ volatile("");
}

}  // namespace

int main(int argc, char**) {
  __asm__ volatile("int3" : : : "memory");
  if (argc > 1) {
    switch_barely();
  } else {
    generators();
    fibers();
  }
  __asm__ volatile("int3" : : : "memory");
  if (failures == 0)
    std::puts("done");
  return failures;
}
