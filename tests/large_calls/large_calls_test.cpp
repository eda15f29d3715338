// Calls that need more than a fiber of 16 KiB has, on large stacks.
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "calls.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/on_large_stack.hpp"
#include "sennit/runtime.hpp"

namespace {

constexpr std::size_t small = 16 * 1024;

// In 8 fibers at a time, each call three times.
template <class Spawn>
void run_all(Spawn spawn, void (*between)()) {
  for (const large_calls::call& each : large_calls::all()) {
    std::vector<decltype(spawn([] {}))> fibers;
    for (int i = 0; i < 8; ++i)
      fibers.push_back(spawn([&each, between] {
        for (int round = 0; round < 3; ++round)
          sennit::on_large_stack([&] { each.run(between); });
      }));
    for (auto& fiber : fibers)
      EXPECT_NO_THROW(fiber.join()) << each.name;
  }
}

TEST(LargeCalls, RunFromSmallFibersOfAParallelRuntime) {
  for (const unsigned workers : {1u, 4u})
    sennit::runtime({.workers = workers}).run([] {
      run_all([](auto function) { return sennit::spawn(function, {.stack_size = small}); },
              [] { sennit::this_fiber::yield(); });
    });
}

TEST(LargeCalls, RunFromSmallFibersOfALocalRuntime) {
  sennit::local::runtime().run([] {
    run_all([](auto function) { return sennit::local::spawn(function, {.stack_size = small}); },
            [] { sennit::local::this_fiber::yield(); });
  });
}

// Calls `function` with only so many bytes left of the stack above `low`.
[[gnu::noinline]] void with_left(std::size_t left, const char* low, auto function) {
  const auto here = static_cast<const char*>(__builtin_frame_address(0));
  const std::size_t used = static_cast<std::size_t>(here - low) - left;
  volatile auto* const taken = static_cast<volatile char*>(__builtin_alloca(used));
  taken[0] = 1;
  function();
}

// The frames of the call itself, of code that is not optimized.
constexpr std::size_t least_left = 2048;

TEST(LargeCalls, AnExceptionIsThrownAtEveryRemainingDepth) {
  alignas(16) static std::byte memory[small];
  sennit::local::runtime().run([] {
    sennit::local::spawn(
        [] {
          const auto* const low = reinterpret_cast<const char*>(memory);
          int caught = 0;
          const auto call = [&caught] {
            try {
              sennit::on_large_stack([] { throw std::runtime_error("at some depth"); });
            } catch (const std::runtime_error&) {
              ++caught;
            }
          };
          // The first call makes the worker's large stack, and the dynamic linker looks up the functions that
          // throw: that takes 2 KB more where the CPU has AVX-512.
          call();
          int thrown = 1;
          for (std::size_t left = least_left; left < small - 4096; left += 16, ++thrown)
            with_left(left, low, call);
          EXPECT_EQ(caught, thrown);
          EXPECT_GT(caught, 500);
        },
        {.stack = memory})
        .join();
  });
}

}  // namespace
