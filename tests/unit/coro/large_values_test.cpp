// Values that no register holds go through the caller's frame: moved, never copied to the heap.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"

namespace {
std::atomic<long> allocations{0};
}

#if !defined(SENNIT_SANITIZED)  // sanitizers have allocators of their own
// All of this program's are counted.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif

namespace {

using sennit::coroutine;
using sennit::generator;

// Two hundred bytes, over-aligned, move-only, not trivial; knows how many there are, and whether one was
// lost.
struct alignas(64) large {
  explicit large(int of) noexcept : number(of) {
    for (int& each : rest)
      each = of;
    ++alive;
  }
  large(large&& other) noexcept : number(std::exchange(other.number, -1)) {
    for (int i = 0; i < 49; ++i)
      rest[i] = other.rest[i];
    ++alive;
  }
  large& operator=(large&&) = delete;
  ~large() { --alive; }

  bool is(int of) const noexcept {
    bool right = number == of && reinterpret_cast<std::uintptr_t>(this) % 64 == 0;
    for (int each : rest)
      right = right && each == of;
    return right;
  }

  int number;
  int rest[49];
  static inline int alive = 0;
};
static_assert(sizeof(large) >= 200 && alignof(large) == 64 && !std::is_copy_constructible_v<large>);

constexpr int rounds = 100;

TEST(LargeValues, OfACoroutineBothWays) {
  {
    coroutine<large(large)> next([](auto& self, large in) {
      for (int i = 0; i < rounds; ++i) {
        EXPECT_TRUE(in.is(2 * i));
        large brought = self.yield(large(2 * i + 1));
        in.~large();
        ::new (static_cast<void*>(&in)) large(std::move(brought));
      }
      return large(in.number);
    });
    const long before = allocations;
    for (int i = 0; i < rounds; ++i)
      EXPECT_TRUE(next(large(2 * i)).is(2 * i + 1));
    EXPECT_TRUE(next(large(7)).is(7));  // its result
    EXPECT_TRUE(next.done());
    EXPECT_EQ(allocations, before);
  }
  EXPECT_EQ(large::alive, 0);
}

TEST(LargeValues, OfAGeneratorAreMovedOutOrLeft) {
  {
    const auto count = [](auto& yield) {
      for (int i = 0; i < rounds; ++i)
        yield(large(i));
    };
    generator<large> outer([&count](auto& yield) {
      yield.yield_all(generator<large>(count));
      yield(large(rounds));
    });
    const long before = allocations;
    int i = 0;
    for (auto&& each : outer) {
      EXPECT_TRUE(each.is(i));
      if (i % 2 == 0) {
        const large taken = std::move(each);
        EXPECT_TRUE(taken.is(i));
      }
      EXPECT_EQ(large::alive, 1);
      ++i;
    }
    EXPECT_EQ(i, rounds + 1);
    EXPECT_EQ(allocations, before);
  }
  EXPECT_EQ(large::alive, 0);
}

TEST(LargeValues, AreDestroyedWithACoroutineThatIsDestroyedEarly) {
  {
    coroutine<large(large)> one([](auto& self, large in) { return self.yield(std::move(in)); });
    EXPECT_TRUE(one(large(3)).is(3));
  }
  EXPECT_EQ(large::alive, 0);
}

#if !defined(SENNIT_SANITIZED)
// That a count stays the same says something only if it can change.
TEST(LargeValues, AllocationsAreCounted) {
  const long before = allocations;
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(allocations, before + 1) << *one;
}
#endif

}  // namespace
