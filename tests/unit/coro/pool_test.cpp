// Coroutines are reused whole; idle ones go from thread to process, and their memory back to the kernel.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

#include "sennit/coroutine.hpp"
#include "sennit/detail/arch/thread.h"
#include "sennit/generator.hpp"
#include "support/process.hpp"

namespace {

using sennit::coroutine;
using sennit::generator;
using sennit::detail::default_stack_size;
using sennit::detail::pool_limit;
using sennit::detail::stack_find;
using support::count_mappings;

using address = std::uintptr_t;

address frame_address() {
  return reinterpret_cast<address>(__builtin_frame_address(0));
}

// Yields where it runs.
generator<address> locator(std::size_t stack_size = default_stack_size) {
  return generator<address>([](auto& yield) { yield(frame_address()); }, stack_size);
}
const char* stack_of(generator<address>& g) {
  return stack_find(*g.begin()).low;
}
const char* stack_of_a_new_one(std::size_t stack_size = default_stack_size) {
  generator<address> g = locator(stack_size);
  return stack_of(g);
}

std::size_t idle_here() {
  const sennit_idle* const first = sennit_thread_self()->pool.first;
  return first->next == nullptr ? 0 : pool_limit - first->room;
}

TEST(CoroutinePool, GivesOneThatEndedToTheNext) {
  generator<address> first = locator();
  const char* const where = stack_of(first);
  first = locator();  // the old one lives in the temporary until here
  EXPECT_NE(stack_of(first), where);
  EXPECT_EQ(stack_of_a_new_one(), where);
  EXPECT_EQ(stack_of_a_new_one(), where);
}

TEST(CoroutinePool, SharesThemBetweenGeneratorsAndCoroutines) {
  const char* const where = stack_of_a_new_one();
  coroutine<address()> c([](auto&) { return frame_address(); });
  EXPECT_EQ(stack_find(c()).low, where);
}

TEST(CoroutinePool, GivesOneThatWasUnwoundToTheNext) {
  const char* where;
  {
    generator<address> endless([](auto& yield) {
      for (;;)
        yield(frame_address());
    });
    where = stack_of(endless);
  }
  EXPECT_EQ(stack_of_a_new_one(), where);
}

TEST(CoroutinePool, GivesOneThatThrewToTheNext) {
  const char* where = nullptr;
  {
    generator<int> thrower([&where](auto& yield) {
      where = stack_find(frame_address()).low;
      yield(1);
      throw 1;
    });
    auto it = thrower.begin();
    EXPECT_THROW(++it, int);
  }
  EXPECT_EQ(stack_of_a_new_one(), where);
}

TEST(CoroutinePool, TheOneThatEndedLastIsTakenFirst) {
  std::array<const char*, 3> ended;
  {
    generator<address> a = locator(), b = locator(), c = locator();
    ended = {stack_of(a), stack_of(b), stack_of(c)};
  }  // c, b, a
  generator<address> first = locator(), second = locator(), third = locator();
  EXPECT_EQ(stack_of(first), ended[0]);
  EXPECT_EQ(stack_of(second), ended[1]);
  EXPECT_EQ(stack_of(third), ended[2]);
}

TEST(CoroutinePool, KeepsSizesApart) {
  const char* const large = stack_of_a_new_one(1 << 20);
  const char* const usual = stack_of_a_new_one();
  EXPECT_NE(large, usual);
  EXPECT_EQ(stack_of_a_new_one(1'000'000), large);
  EXPECT_EQ(stack_of_a_new_one(), usual);
  EXPECT_NE(stack_of_a_new_one(1 << 19), large);
}

TEST(CoroutinePool, OneThatWasMovedGoesToThePoolOfTheThreadThatEndsIt) {
  generator<address> g = locator();
  const char* const where = stack_of(g);
  std::thread([&g, where] {
    {
      const generator<address> taken = std::move(g);
    }
    EXPECT_EQ(stack_of_a_new_one(), where);
  }).join();
}

TEST(CoroutinePool, IsGivenBackByAThreadThatEnds) {
  constexpr std::size_t no_other_tests_size = 1 << 17;
  std::set<const char*> seen;
  std::thread([&seen] {
    std::vector<generator<address>> many;
    for (int i = 0; i < 100; ++i)
      seen.insert(stack_of(many.emplace_back(locator(no_other_tests_size))));
  }).join();
  EXPECT_EQ(seen.size(), 100u);
  std::vector<generator<address>> many;
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(seen.count(stack_of(many.emplace_back(locator(no_other_tests_size)))), 1u);
}

TEST(CoroutinePool, DoesNotGrowOverAThousandThreads) {
  std::set<const char*> seen;
  const auto visit = [&seen] {
    std::thread([&seen] {
      std::array<generator<address>, 3> some = {locator(), locator(), locator(1 << 18)};
      for (auto& g : some)
        seen.insert(stack_of(g));
    }).join();
  };
  for (int i = 0; i < 10; ++i)
    visit();
  const std::size_t before = count_mappings();
  for (int i = 0; i < 1000; ++i)
    visit();
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_LE(count_mappings(), before + 10);  // alternate signal stacks and the like
}

// A process that makes coroutines on one thread and ends them on another.
TEST(CoroutinePool, DoesNotGrowWhenOneThreadMakesAndAnotherEnds) {
  constexpr std::size_t no_other_tests_size = 1 << 15;
  std::set<const char*> seen;
  for (int round = 0; round < 50; ++round) {
    std::vector<generator<address>> many;
    for (int i = 0; i < 100; ++i)
      seen.insert(stack_of(many.emplace_back(locator(no_other_tests_size))));
    std::thread([taken = std::move(many)]() mutable { taken.clear(); }).join();
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST(CoroutinePool, KeepsAtMostItsLimit) {
  std::vector<generator<address>> many;
  for (std::size_t i = 0; i < pool_limit + 100; ++i)
    static_cast<void>(many.emplace_back(locator()).begin());
  EXPECT_EQ(idle_here(), 0u);
  many.clear();
  EXPECT_LE(idle_here(), pool_limit);
  EXPECT_GE(idle_here(), pool_limit / 2);
  std::set<const char*> seen;
  for (std::size_t i = 0; i < pool_limit + 100; ++i)
    seen.insert(stack_of(many.emplace_back(locator())));
  EXPECT_EQ(seen.size(), pool_limit + 100);
}

constexpr std::size_t deep_bytes = 32 * 1024;

// Uses a stack deeply; says where. (Not instrumented, or AddressSanitizer would put the array elsewhere.)
[[gnu::noinline]] SENNIT_UNSANITIZED void mark_deep_down(address& where) {
  volatile char pad[deep_bytes];
  for (std::size_t i = 0; i < deep_bytes; i += 1024)
    pad[i] = 0x5a;
  where = reinterpret_cast<address>(&pad[deep_bytes / 2]);
}
// Whether there is memory at an address: asks the kernel.
bool committed(address where) {
  const auto page = static_cast<address>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  EXPECT_EQ(mincore(reinterpret_cast<void*>(where / page * page), page, &resident), 0);
  return (resident & 1) != 0;
}

TEST(CoroutinePool, IdleOnesBeyondTheLimitGiveTheirMemoryBack) {
  std::vector<generator<address>> many;
  std::vector<address> deep;
  for (std::size_t i = 0; i < pool_limit + 1; ++i)
    deep.push_back(*many.emplace_back([](auto& yield) {
                          address where;
                          mark_deep_down(where);
                          yield(where);
                        })
                        .begin());
  for (const address where : deep)
    ASSERT_TRUE(committed(where));
  many.clear();
  std::size_t still = 0;
  for (const address where : deep)
    still += committed(where);
  EXPECT_LE(still, pool_limit / 2);
  EXPECT_GT(still, 0u);
}

}  // namespace
