#include "sennit/generator.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/counted.hpp"
#include "support/instructions.hpp"

namespace {

using sennit::generator;
using support::counted;

static_assert(std::ranges::input_range<generator<int>>);
static_assert(std::ranges::view<generator<int>>);
static_assert(std::ranges::input_range<generator<std::unique_ptr<int>>>);
static_assert(!std::is_copy_constructible_v<generator<int>>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<int&>>, int&>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<std::string>>, std::string&&>);

generator<int> count_to(int n) {
  return generator<int>([n](auto& yield) {
    for (int i = 0; i < n; ++i)
      yield(i);
  });
}

std::vector<int> elements(auto&& range) {
  std::vector<int> all;
  for (int each : range)
    all.push_back(each);
  return all;
}

TEST(Generator, YieldsTheSeedsEvenNumbers) {
  generator<int> evens([](auto& yield) {
    for (int i = 0; i < 10; ++i)
      yield(42 + i * 2);
  });
  EXPECT_EQ(elements(evens), (std::vector<int>{42, 44, 46, 48, 50, 52, 54, 56, 58, 60}));
}

TEST(Generator, CanBeEmpty) {
  for (int item : count_to(0))
    FAIL() << item;
}

TEST(Generator, ComposesWithRangeAdaptors) {
  EXPECT_EQ(
      elements(count_to(100) | std::views::filter([](int i) { return i % 7 == 0; }) | std::views::take(4)),
      (std::vector<int>{0, 7, 14, 21}));
}

TEST(Generator, HandsOutReferencesToTheBodysObjects) {
  int total = 0;
  generator<int&> slots([&total](auto& yield) {
    int slot = 0;
    for (int i = 0; i < 3; ++i) {
      yield(slot);
      total += slot;
    }
  });
  int next = 1;
  for (int& slot : slots)
    slot = next *= 10;
  EXPECT_EQ(total, 10 + 100 + 1000);
}

TEST(Generator, MovesMoveOnlyValuesOut) {
  generator<std::unique_ptr<int>> owners([](auto& yield) {
    for (int i = 0; i < 3; ++i)
      yield(std::make_unique<int>(i));
  });
  std::vector<std::unique_ptr<int>> kept;
  for (auto&& owner : owners)
    kept.push_back(std::move(owner));
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(*kept[2], 2);
}

TEST(Generator, CopiesLvaluesThatTheBodyKeeps) {
  generator<std::string> words([](auto& yield) {
    const std::string word = "a word that is too long for the small buffer";
    yield(word);
    yield(word);
  });
  for (std::string word : words)
    EXPECT_EQ(word.size(), 44u);
}

TEST(Generator, EndsWhenAnotherIsAssigned) {
  std::atomic<int> alive = 0;
  const auto make = [&alive] {
    return generator<int>([mine = counted(alive)](auto& yield) {
      yield(1);
      yield(2);
    });
  };
  generator<int> g = make();
  EXPECT_EQ(*g.begin(), 1);
  generator<int> other = make();
  EXPECT_EQ(alive, 2);
  g = std::move(other);
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(*g.begin(), 1);
}

TEST(Generator, UnwindsTheBodyWhenDestroyedEarly) {
  std::atomic<int> alive = 0;
  {
    generator<int> g([&alive](auto& yield) {
      counted outer(alive);
      auto deep = [&](auto& self, int depth) -> void {
        counted inner(alive);
        if (depth > 0)
          self(self, depth - 1);
        else
          for (int i = 0; i < 1000; ++i)
            yield(i);
      };
      deep(deep, 20);
    });
    int sum = 0;
    for (int item : g) {
      sum += item;
      if (item == 5)
        break;
    }
    EXPECT_EQ(sum, 15);
    EXPECT_EQ(alive, 22);
  }
  EXPECT_EQ(alive, 0);
}

// See coroutine_test: no caller is there to get it.
TEST(Generator, WhatLeavesABodyThatIsUnwoundIsDropped) {
  for (int round = 0; round < 3; ++round) {
    {
      generator<int> outer([](auto& yield) {
        yield.yield_all(generator<int>([](auto& inner) {
          try {
            inner(1);
          } catch (...) {
            throw std::runtime_error("too late");
          }
        }));
      });
      static_cast<void>(outer.begin());
    }
    generator<int> one = count_to(2);
    generator<int> other = count_to(2);
    int seen = 0;
    for (int item : one)
      seen += 1 + item;
    for (int item : other)
      seen += 1 + item;
    EXPECT_EQ(seen, 6);
  }
}

TEST(Generator, DestroysABodyThatNeverBegan) {
  std::atomic<int> alive = 0;
  {
    generator<int> g([held = counted(alive)](auto& yield) {
      ADD_FAILURE() << "the body ran";
      yield(1);
    });
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Generator, DestroysABodyThatNeverBeganOnAStackThatNobodyHasUsed) {
  std::atomic<int> alive = 0;
  for (int i = 0; i < 2; ++i)
    const generator<int> unbegun([held = counted(alive)](auto& yield) { yield(1); }, 2 << 20);
  EXPECT_EQ(alive, 0);
}

TEST(Generator, KeepsLargeFunctionObjects) {
  std::array<int, 1000> large{};
  std::iota(large.begin(), large.end(), 0);
  generator<int> g([large](auto& yield) {
    for (int item : large)
      yield(item);
  });
  EXPECT_EQ(std::accumulate(large.begin(), large.end(), 0), [&] {
    int sum = 0;
    for (int item : g)
      sum += item;
    return sum;
  }());
}

TEST(Generator, BringsTheBodysExceptionToTheConsumer) {
  generator<int> g([](auto& yield) {
    yield(1);
    throw std::runtime_error("from the body");
  });
  auto it = g.begin();
  EXPECT_EQ(*it, 1);
  try {
    ++it;
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "from the body");
  }
  EXPECT_TRUE(it == g.end());
}

TEST(Generator, BodyMayCatchAndYieldAndRethrow) {
  generator<int> g([](auto& yield) {
    try {
      throw std::runtime_error("mine");
    } catch (...) {
      yield(1);
      throw;
    }
  });
  try {
    throw std::logic_error("the consumer's");
  } catch (const std::logic_error&) {
    auto it = g.begin();
    EXPECT_EQ(*it, 1);
    EXPECT_THROW(++it, std::runtime_error);
    try {
      throw;
    } catch (const std::logic_error& error) {
      EXPECT_STREQ(error.what(), "the consumer's");
    }
  }
}

generator<int> tree(int depth) {
  return generator<int>([depth](auto& yield) {
    if (depth > 0)
      yield.yield_all(tree(depth - 1));
    yield(depth);
    if (depth > 0)
      yield.yield_all(tree(depth - 1));
  });
}

TEST(Generator, NestsWithYieldAll) {
  EXPECT_EQ(elements(tree(3)), (std::vector<int>{0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0}));
}

// 0 to 9, from the innermost of depth + 1 generators.
generator<int> nested(std::atomic<int>& alive, int depth) {
  return generator<int>([&alive, depth](auto& yield) {
    counted here(alive);
    if (depth == 0)
      for (int i = 0; i < 10; ++i)
        yield(i);
    else
      yield.yield_all(nested(alive, depth - 1));
    ADD_FAILURE() << "went on";
  });
}

#if defined(SUPPORT_COUNTS_INSTRUCTIONS)
// What three elements take.
long instructions_at(int depth) {
  return support::instructions_of([depth] {
    std::atomic<int> alive = 0;
    generator<int> g = nested(alive, depth);
    auto it = g.begin();
    ++it;  // nothing is the first of its kind any more
    support::mark();
    for (int i = 0; i < 3; ++i)
      ++it;
    support::mark();
    ::_exit(0);
  });
}

TEST(Generator, AnElementCostsTheSameAtAnyDepth) {
  const long of_one = instructions_at(0);
  if (of_one == -1)
    GTEST_SKIP() << "processes must not be traced here";
  EXPECT_GT(of_one, 0);
  const long of_nested = instructions_at(1);
  EXPECT_EQ(instructions_at(2), of_nested);
  EXPECT_EQ(instructions_at(20), of_nested);
  EXPECT_EQ(of_nested, of_one);
}
#endif

TEST(Generator, UnwindsNestedGeneratorsWhenDestroyedEarly) {
  std::atomic<int> alive = 0;
  {
    generator<int> g = nested(alive, 5);
    auto it = g.begin();
    ++it;
    EXPECT_EQ(*it, 1);
    EXPECT_EQ(alive, 6);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Generator, NestedExceptionsPassThroughEachLevel) {
  int caught = 0;
  generator<int> g([&caught](auto& yield) {
    try {
      yield.yield_all(generator<int>([](auto& inner) {
        inner(1);
        throw std::runtime_error("inner");
      }));
    } catch (const std::runtime_error&) {
      ++caught;
      yield(2);
    }
  });
  EXPECT_EQ(elements(g), (std::vector<int>{1, 2}));
  EXPECT_EQ(caught, 1);
}

TEST(Generator, YieldAllGoesOnWithAStartedGenerator) {
  generator<int> inner = count_to(5);
  auto it = inner.begin();
  ++it;
  ++it;  // stands on 2
  generator<int> outer([&inner](auto& yield) {
    yield(100);
    yield.yield_all(std::move(inner));
    yield(200);
  });
  EXPECT_EQ(elements(outer), (std::vector<int>{100, 2, 3, 4, 200}));
}

TEST(Generator, YieldAllGoesOnWithAGeneratorThatStandsInsideOfAnother) {
  generator<int> inner = tree(3);
  auto it = inner.begin();  // stands on an element of the innermost of four
  ++it;
  generator<int> outer([&inner](auto& yield) {
    yield(100);
    yield.yield_all(std::move(inner));
    yield(200);
  });
  EXPECT_EQ(elements(outer), (std::vector<int>{100, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 200}));
}

TEST(Generator, UnwindsAGeneratorThatStoodInsideOfAnother) {
  std::atomic<int> alive = 0;
  generator<int> inner = nested(alive, 3);
  static_cast<void>(inner.begin());
  {
    generator<int> outer([&](auto& yield) {
      counted here(alive);
      yield.yield_all(std::move(inner));
    });
    auto it = outer.begin();
    EXPECT_EQ(*it, 0);
    ++it;
    ++it;
    EXPECT_EQ(*it, 2);
    EXPECT_EQ(alive, 5);
  }
  EXPECT_EQ(alive, 0);
}

// For the sanitizers: a coroutine that ended while another yielded for it is reused by others, and runs on
// its own stack.
TEST(Generator, ReusesACoroutineThatEndedInYieldAll) {
  long sum = 0;
  for (int round = 0; round < 10; ++round) {
    for (int item : tree(3))
      sum += item;
    generator<int> first = count_to(10);
    generator<int> second = count_to(10);
    auto one = first.begin();
    auto other = second.begin();
    for (int i = 1; i < 10; ++i)
      sum += *++one + *++other;
  }
  EXPECT_EQ(sum, 10 * (11 + 90));
}

TEST(Generator, YieldAllTakesAnyRange) {
  generator<int> g([](auto& yield) { yield.yield_all(std::vector<int>{3, 1, 2}); });
  EXPECT_EQ(elements(g), (std::vector<int>{3, 1, 2}));
}

TEST(Generator, MovesFromThreadToThread) {
  generator<int> g = count_to(1000);
  auto it = g.begin();
  long sum = *it;
  for (int round = 0; round < 9; ++round)
    std::thread([&] {
      for (int i = 0; i < 111; ++i)
        sum += *++it;
    }).join();
  EXPECT_EQ(sum, 999L * 1000 / 2);
}

TEST(Generator, ReusesOneCoroutineAgainAndAgain) {
  long sum = 0;
  for (int i = 0; i < 10000; ++i)
    for (int item : count_to(3))
      sum += item;
  EXPECT_EQ(sum, 30000);
}

TEST(Generator, ManyLiveAtOnce) {
  std::vector<generator<int>> many;
  for (int i = 0; i < 5000; ++i)
    many.push_back(count_to(i % 100));
  long sum = 0;
  for (auto& g : many)
    for (int item : g)
      sum += item != 0;
  EXPECT_EQ(sum, 50 * (98 * 99 / 2));
}

TEST(Generator, TakesOtherStackSizes) {
  generator<int> g(
      [](auto& yield) {
        auto deep = [&](auto& self, int depth) -> int {
          volatile char pad[1000] = {};
          return depth == 0 ? 0 : 1 + self(self, depth - 1) + pad[0];
        };
        yield(deep(deep, 900));
      },
      4 * 1024 * 1024);
  EXPECT_EQ(*g.begin(), 900);
}

TEST(GeneratorDeathTest, SwallowingTheUnwindEndsWithAMessage) {
  EXPECT_DEATH(
      {
        generator<int> g([](auto& yield) {
          for (int i = 0;; ++i) {
            try {
              yield(i);
            } catch (...) {
            }
          }
        });
        static_cast<void>(g.begin());
      },
      "must rethrow");
}

#if !defined(NDEBUG)
TEST(GeneratorDeathTest, GoingOnAtTheEndIsAMisuse) {
  const auto one = [] { return generator<int>([](auto& yield) { yield(1); }); };
  const auto beyond = [&one] {
    auto g = one();
    auto at = g.begin();
    ++at;
    ++at;
  };
  EXPECT_DEATH(beyond(), "sennit: .. on a generator that is at its end");
  const auto by_a_copy = [&one] {
    auto g = one();
    auto at = g.begin();
    auto copy = at;
    ++at;
    ++copy;
  };
  EXPECT_DEATH(by_a_copy(), "sennit: .. on a generator that is at its end");
  const auto look = [&one] {
    auto g = one();
    auto at = g.begin();
    ++at;
    return *at;
  };
  EXPECT_DEATH(look(), "sennit: . on a generator that is at its end");
}

TEST(GeneratorDeathTest, UsingOneThatWasMovedFromIsAMisuse) {
  generator<int> from([](auto& yield) { yield(1); });
  generator<int> to = std::move(from);
  EXPECT_DEATH(static_cast<void>(from.begin()), "sennit: begin.. of a generator that was moved from");
  const auto hand_on = [&from] {
    generator<int> outer([&from](auto& yield) { yield.yield_all(std::move(from)); });
    static_cast<void>(outer.begin());
  };
  EXPECT_DEATH(hand_on(), "sennit: a generator that was moved from was yielded");
  EXPECT_EQ(*to.begin(), 1);
}
#endif

}  // namespace
