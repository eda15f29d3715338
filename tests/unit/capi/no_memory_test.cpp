// What C gets where there is no memory. Not under sanitizers, which have operators of their own.
#include "sennit/detail/stack/sanitizer.hpp"

#if !defined(SENNIT_SANITIZED)

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "check.h"

namespace {
bool memory_is_left = true;
}

// Not inlined: gcc would find that new and free do not go together.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = memory_is_left ? std::malloc(size) : nullptr)
    return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return memory_is_left ? std::malloc(size) : nullptr;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using state = std::array<std::byte, 2048>;

TEST(CWithoutMemory, AYieldComesBack) {
  const auto yields = [](void*) {
    const state mine{};
    ASSERT_EQ(sennit_self_set_yield_continuation([](void*) { FAIL(); }, &mine, sizeof mine), 0);
    memory_is_left = false;
    const int yielded = sennit_self_yield();
    memory_is_left = true;
    EXPECT_EQ(yielded, -ENOMEM);
    EXPECT_EQ(sennit_self_clear_yield_continuation(), 0);
  };
  EXPECT_EQ(capi_run(yields, nullptr), 0);
}

TEST(CWithoutMemory, AFiberDoesNotBlockWithoutAStack) {
  const auto blocks = [](void*) {
    const state mine{};
    memory_is_left = false;
    const int became = sennit_become([](void*) { FAIL(); }, &mine, sizeof mine, 0);
    memory_is_left = true;
    EXPECT_EQ(became, -ENOMEM);
  };
  EXPECT_EQ(capi_run(blocks, nullptr), 0);
}

TEST(CWithoutMemory, ALargeElementIsNotSent) {
  const auto sends = [](void*) {
    sennit_channel* channel = nullptr;
    ASSERT_EQ(sennit_channel_create(&channel, sizeof(state), 1), 0);
    const state element{};
    memory_is_left = false;
    const int sent = sennit_channel_send(channel, &element);
    memory_is_left = true;
    EXPECT_EQ(sent, -ENOMEM);
    EXPECT_EQ(sennit_channel_size(channel), 0);
    EXPECT_EQ(sennit_channel_destroy(channel), 0);
  };
  EXPECT_EQ(capi_run(sends, nullptr), 0);
}

}  // namespace

#endif
