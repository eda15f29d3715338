#include "sennit/coroutine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cfenv>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/generator.hpp"
#include "support/counted.hpp"
#include "support/fp_control.hpp"

namespace {

using sennit::coroutine;
using sennit::generator;
using support::counted;

static_assert(!std::is_copy_constructible_v<coroutine<int(int)>>);
static_assert(std::is_nothrow_move_constructible_v<coroutine<int(int)>>);
static_assert(std::is_nothrow_move_assignable_v<coroutine<int(int)>>);
static_assert(std::is_invocable_r_v<int, coroutine<int(int)>&, int>);
static_assert(std::is_invocable_r_v<int, coroutine<int()>&>);
static_assert(!std::is_invocable_v<coroutine<int()>&, int>);

TEST(Coroutine, TakesAndGivesAValueAtEachCall) {
  coroutine<int(int)> sum([](auto& self, int first) {
    int total = first;
    for (;;)
      total += self.yield(total);
    return total;
  });
  EXPECT_EQ(sum(1), 1);
  EXPECT_EQ(sum(2), 3);
  EXPECT_EQ(sum(3), 6);
  EXPECT_FALSE(sum.done());
}

// Its state is its own, for any caller, and ends with it: also if it is destroyed before its end.
TEST(Coroutine, KeepsItsFpControlState) {
  const auto truncate = [](auto& self) {
    const sennit::fp_control_guard keeps;
    std::fesetround(FE_TOWARDZERO);
    for (;;)
      self.yield(support::rounds_to_zero());
    return false;
  };
  {
    coroutine<bool()> first(truncate);
    coroutine<bool()> second(truncate);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(first());
      EXPECT_FALSE(support::rounds_to_zero());
      EXPECT_TRUE(second());
    }
    std::thread([&first] {
      EXPECT_TRUE(first());
      EXPECT_FALSE(support::rounds_to_zero());
    }).join();
  }
  EXPECT_FALSE(support::rounds_to_zero());
  coroutine<bool()> next([](auto&) { return support::rounds_to_zero(); });  // on the stack of one of them
  EXPECT_FALSE(next());
}

TEST(Coroutine, IsDoneWhenItsBodyReturned) {
  coroutine<int(int)> twice([](auto& self, int first) { return self.yield(first) * 2; });
  EXPECT_FALSE(twice.done());
  EXPECT_EQ(twice(5), 5);
  EXPECT_FALSE(twice.done());
  EXPECT_EQ(twice(7), 14);
  EXPECT_TRUE(twice.done());
}

TEST(Coroutine, MayReturnWithoutEverYielding) {
  coroutine<std::string(std::string)> shout([](auto&, std::string word) { return word + "!"; });
  EXPECT_EQ(shout("hey"), "hey!");
  EXPECT_TRUE(shout.done());
}

TEST(Coroutine, MayTakeNothing) {
  coroutine<int()> count([](auto& self) {
    for (int i = 0; i < 3; ++i)
      self.yield(i);
    return 3;
  });
  for (int i = 0; i <= 3; ++i) {
    EXPECT_FALSE(count.done());
    EXPECT_EQ(count(), i);
  }
  EXPECT_TRUE(count.done());
}

TEST(Coroutine, MovesMoveOnlyValuesBothWays) {
  using box = std::unique_ptr<int>;
  coroutine<box(box)> plus_one([](auto& self, box in) {
    for (;;)
      in = self.yield(std::make_unique<int>(*in + 1));
    return in;
  });
  EXPECT_EQ(*plus_one(std::make_unique<int>(1)), 2);
  EXPECT_EQ(*plus_one(std::make_unique<int>(41)), 42);

  coroutine<box(box)> identity([](auto&, box in) { return in; });
  box one = std::make_unique<int>(1);
  int* const where = one.get();
  EXPECT_EQ(identity(std::move(one)).get(), where);
}

// Counts how often it is moved; may not be copied.
struct moved {
  int moves = 0;
  moved() = default;
  moved(moved&& other) noexcept : moves(other.moves + 1) {}
  moved& operator=(moved&&) = delete;
};

TEST(Coroutine, MovesEachValueOnceBetweenTheSides) {
  int taken = -1;
  coroutine<moved(moved)> c([&taken](auto& self, moved first) {
    taken = first.moves;
    const moved second = self.yield(moved());
    taken = second.moves;
    return moved();
  });
  EXPECT_EQ(c(moved()).moves, 1);
  EXPECT_EQ(taken, 1);
  EXPECT_LE(c(moved()).moves, 2);  // through the place where the result waits
  EXPECT_EQ(taken, 1);
}

TEST(Coroutine, NeedsNoDefaultConstructor) {
  struct number {
    explicit number(int v) : value(v) {}
    int value;
  };
  coroutine<number(number)> c([](auto& self, number n) {
    n = self.yield(number(n.value + 1));
    return number(n.value + 2);
  });
  EXPECT_EQ(c(number(1)).value, 2);
  EXPECT_EQ(c(number(10)).value, 12);
}

TEST(Coroutine, PassesReferencesAsPointers) {
  std::vector<int> log;
  coroutine<int*(std::vector<int>*)> c([](auto& self, std::vector<int>* to) {
    int local = 1;
    while (local < 10) {
      to->push_back(local);
      to = self.yield(&local);
    }
    return static_cast<int*>(nullptr);
  });
  int* inside = c(&log);
  *inside = 5;
  inside = c(&log);
  *inside = 10;
  EXPECT_EQ(c(&log), nullptr);
  EXPECT_EQ(log, (std::vector<int>{1, 5}));
  EXPECT_TRUE(c.done());
}

TEST(Coroutine, EndsWhenAnotherIsAssigned) {
  std::atomic<int> alive = 0;
  const auto make = [&alive] {
    return coroutine<int(int)>([mine = counted(alive)](auto& self, int first) { return self.yield(first); });
  };
  coroutine<int(int)> c = make();
  EXPECT_EQ(c(1), 1);
  coroutine<int(int)> other = make();
  EXPECT_EQ(alive, 2);
  c = std::move(other);
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(c(2), 2);
}

TEST(Coroutine, ArgumentsAndResultsAreDestroyed) {
  std::atomic<int> alive = 0;
  {
    coroutine<std::optional<counted>(counted)> c([&alive](auto& self, counted in) {
      self.yield(std::optional<counted>(in));
      return std::optional<counted>(std::in_place, alive);
    });
    c(counted(alive));
    EXPECT_EQ(alive, 2);  // the body's argument, and the value that it yielded, until it resumes
    c(counted(alive));
    EXPECT_TRUE(c.done());
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, YieldsFromDeepCalls) {
  coroutine<int(int)> c([](auto& self, int first) {
    auto deep = [&self](auto& again, int depth, int value) -> int {
      if (depth == 0)
        return self.yield(value);
      return again(again, depth - 1, value) + 1;
    };
    return deep(deep, 50, first);
  });
  EXPECT_EQ(c(7), 7);
  EXPECT_EQ(c(100), 150);
}

TEST(Coroutine, CallsAnotherFromItsBody) {
  coroutine<int(int)> outer([](auto& self, int first) {
    coroutine<int(int)> inner([](auto& mine, int n) {
      for (;;)
        n = mine.yield(n * 10);
      return 0;
    });
    for (int in = first;;)
      in = self.yield(inner(in) + 1);
    return 0;
  });
  EXPECT_EQ(outer(1), 11);
  EXPECT_EQ(outer(2), 21);
}

[[gnu::noinline]] int call_from(int depth, coroutine<int(int)>& c, int in) {
  volatile int frame[100] = {};
  return (depth == 0 ? c(in) : call_from(depth - 1, c, in)) + frame[depth];
}

TEST(Coroutine, IsCalledFromDifferentDepths) {
  coroutine<int(int)> c([](auto& self, int first) {
    const int second = self.yield(first + 1);
    const int third = self.yield(second + 1);
    return third + 1;
  });
  EXPECT_EQ(call_from(10, c, 1), 2);
  EXPECT_EQ(call_from(20, c, 2), 3);
  EXPECT_EQ(call_from(0, c, 3), 4);
  EXPECT_TRUE(c.done());
}

TEST(Coroutine, BringsTheBodysExceptionToTheCaller) {
  std::atomic<int> alive = 0;
  coroutine<int(int)> c([&alive](auto& self, int n) {
    counted here(alive);
    n = self.yield(n);
    throw std::runtime_error(std::to_string(n));
    return 0;
  });
  EXPECT_EQ(c(1), 1);
  try {
    c(2);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "2");
  }
  EXPECT_TRUE(c.done());
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, MayThrowAtOnce) {
  coroutine<int()> c([](auto&) -> int { throw 42; });
  EXPECT_THROW(c(), int);
  EXPECT_TRUE(c.done());
}

TEST(Coroutine, CatchesInItsBodyWhatDeepCallsThrow) {
  coroutine<std::string()> c([](auto& self) {
    auto deep = [](auto& again, int depth) -> void {
      if (depth == 0)
        throw std::runtime_error("from below");
      again(again, depth - 1);
    };
    std::string last;
    for (int i = 0; i < 3; ++i) {
      try {
        deep(deep, 30);
      } catch (const std::runtime_error& error) {
        self.yield(error.what());  // while it is being handled
        last = error.what();
      }
    }
    return last;
  });
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(c(), "from below");
  EXPECT_TRUE(c.done());
}

TEST(Coroutine, ItsExceptionsAndTheCallersDoNotMix) {
  coroutine<int()> c([](auto& self) {
    try {
      throw 1;
    } catch (int) {
      self.yield(0);
      try {
        throw;
      } catch (int mine) {
        return mine;
      }
    }
    return -1;
  });
  try {
    throw 2;
  } catch (int) {
    c();
    EXPECT_EQ(c(), 1);
    try {
      throw;
    } catch (int own) {
      EXPECT_EQ(own, 2);
    }
  }
}

TEST(Coroutine, UnwindsItsBodyWhenDestroyedEarly) {
  std::atomic<int> alive = 0;
  bool rethrown = false;
  {
    coroutine<int(int)> c([&, held = counted(alive)](auto& self, int n) {
      counted outer(alive);
      try {
        counted inner(alive);
        for (;;)
          n = self.yield(n);
      } catch (...) {
        rethrown = true;
        throw;
      }
      return 0;
    });
    c(1);
    c(2);
    EXPECT_EQ(alive, 3);
    EXPECT_FALSE(rethrown);
  }
  EXPECT_TRUE(rethrown);
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, DestroysABodyThatNeverBegan) {
  std::atomic<int> alive = 0;
  {
    coroutine<int(int)> c([held = counted(alive)](auto&, int) -> int {
      ADD_FAILURE() << "the body ran";
      return 0;
    });
    EXPECT_EQ(alive, 1);
    EXPECT_FALSE(c.done());
  }
  EXPECT_EQ(alive, 0);
}

// The body answers its unwinding with another exception. No caller is there to get it; above all not the next
// user of the coroutine.
TEST(Coroutine, WhatLeavesABodyThatIsUnwoundIsDropped) {
  for (int round = 0; round < 3; ++round) {
    {
      coroutine<int()> c([](auto& self) {
        try {
          self.yield(1);
        } catch (...) {
          throw std::runtime_error("too late");
        }
        return 2;
      });
      c();
    }
    coroutine<int()> next([](auto&) { return 7; });
    EXPECT_EQ(next(), 7);
    EXPECT_TRUE(next.done());
  }
}

TEST(Coroutine, KeepsLargeFunctionObjects) {
  std::array<int, 1000> large{};
  std::iota(large.begin(), large.end(), 0);
  std::atomic<int> alive = 0;
  {
    coroutine<int()> c([large, held = counted(alive)](auto& self) {
      for (int item : large)
        self.yield(item);
      return -1;
    });
    EXPECT_EQ(alive, 1);
    for (int i = 0; i < 1000; ++i)
      ASSERT_EQ(c(), i);
    EXPECT_EQ(c(), -1);
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, KeepsFunctionObjectsOfLargeAlignment) {
  struct alignas(64) aligned {
    int value = 9;
  };
  coroutine<int(int)> d([a = aligned()](auto& self, int in) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % 64, 0u);
    return a.value + self.yield(in);
  });
  EXPECT_EQ(d(1), 1);
  EXPECT_EQ(d(1), 10);
}

TEST(Coroutine, ABodyThatCannotBeMovedLeavesNothingBehind) {
  struct refuses {
    refuses() = default;
    refuses(const refuses&) { throw std::runtime_error("refused"); }
    int operator()(coroutine<int()>::handle&) { return 1; }
  };
  const refuses body;
  for (int i = 0; i < 100; ++i)
    EXPECT_THROW(coroutine<int()> c(body), std::runtime_error);
  coroutine<int()> next([](auto&) { return 7; });
  EXPECT_EQ(next(), 7);
}

TEST(Coroutine, IsMovedAndSwapped) {
  auto count_from = [](int start) {
    return coroutine<int()>([start](auto& self) {
      for (int i = start;; ++i)
        self.yield(i);
      return 0;
    });
  };
  coroutine<int()> a = count_from(0);
  coroutine<int()> b = count_from(100);
  EXPECT_EQ(a(), 0);
  EXPECT_EQ(b(), 100);
  std::swap(a, b);
  EXPECT_EQ(a(), 101);
  EXPECT_EQ(b(), 1);
  const coroutine<int()> gone = std::move(a);
  a = count_from(1000);
  EXPECT_EQ(a(), 1000);
}

TEST(Coroutine, MovesFromThreadToThread) {
  coroutine<int(int)> sum([](auto& self, int first) {
    int total = first;
    for (;;)
      total += self.yield(total);
    return total;
  });
  int last = 0;
  for (int round = 1; round <= 20; ++round)
    std::thread([&] { last = sum(round); }).join();
  EXPECT_EQ(last, 210);
  std::thread([moved_in = std::move(sum)]() mutable { EXPECT_EQ(moved_in(0), 210); }).join();
}

TEST(Coroutine, AnotherThreadUnwindsIt) {
  std::atomic<int> alive = 0;
  coroutine<int()> c([&alive](auto& self) {
    counted here(alive);
    self.yield(1);
    return 0;
  });
  c();
  EXPECT_EQ(alive, 1);
  std::thread([taken = std::move(c)] {}).join();
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, TakesOtherStackSizes) {
  const auto deep = [](auto& again, int depth) -> int {
    volatile char pad[1000] = {};
    return depth == 0 ? 0 : 1 + again(again, depth - 1) + pad[0];
  };
  coroutine<int()> large([&deep](auto&) { return deep(deep, 900); }, 4 * 1024 * 1024);
  EXPECT_EQ(large(), 900);
  coroutine<int()> small([](auto&) { return 1; }, 0);
  EXPECT_EQ(small(), 1);
}

TEST(Coroutine, AStackThatIsTooLargeIsRefused) {
  const auto make = [] { coroutine<int()> c([](auto&) { return 1; }, std::size_t{1} << 40); };
  try {
    make();
    FAIL() << "nothing was thrown";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::invalid_argument);
  }
}

#if !defined(NDEBUG)
TEST(CoroutineDeathTest, CallingOneThatIsDoneIsAMisuse) {
  EXPECT_DEATH(
      {
        coroutine<int()> c([](auto&) { return 1; });
        c();
        c();
      },
      "a coroutine that is done was called");
}

TEST(CoroutineDeathTest, UsingOneThatWasMovedFromIsAMisuse) {
  coroutine<int()> from([](auto&) { return 1; });
  coroutine<int()> to = std::move(from);
  EXPECT_DEATH(from(), "sennit: a coroutine that was moved from was called");
  EXPECT_DEATH(static_cast<void>(from.done()), "sennit: done.. of a coroutine that was moved from");
  EXPECT_EQ(to(), 1);
}

// In its own body, directly or from another one that it calls; and on another thread.
TEST(CoroutineDeathTest, ResumingOneThatRunsIsAMisuse) {
  const auto call_itself = [] {
    coroutine<int()>* me = nullptr;
    coroutine<int()> c([&me](auto&) { return (*me)(); });
    me = &c;
    c();
  };
  EXPECT_DEATH(call_itself(), "a coroutine that is running was resumed");
  const auto call_its_caller = [] {
    coroutine<int()>* me = nullptr;
    coroutine<int()> c([&me](auto& self) {
      coroutine<int()> inner([&me](auto&) { return (*me)(); });
      self.yield(1);
      return inner();
    });
    me = &c;
    c();
    c();
  };
  EXPECT_DEATH(call_its_caller(), "a coroutine that is running was resumed");
  const auto draw_from_itself = [] {
    generator<int>::iterator* me = nullptr;
    generator<int> g([&me](auto& yield) {
      yield(1);
      ++*me;
    });
    auto at = g.begin();
    me = &at;
    ++at;
  };
  EXPECT_DEATH(draw_from_itself(), "a coroutine that is running was resumed");
}
#endif

#if !defined(NDEBUG)
// By its own body, or by another one that it waits for.
TEST(CoroutineDeathTest, DestroyingOneThatRunsIsAMisuse) {
  const auto destroy_itself = [] {
    std::unique_ptr<coroutine<int()>> c;
    c = std::make_unique<coroutine<int()>>([&c](auto&) {
      c.reset();
      return 1;
    });
    (*c)();
  };
  EXPECT_DEATH(destroy_itself(), "sennit: a coroutine that is running was destroyed");
  const auto destroy_its_caller = [] {
    std::unique_ptr<generator<int>> outer;
    outer = std::make_unique<generator<int>>([&outer](auto& yield) {
      coroutine<int()> inner([&outer](auto&) {
        outer.reset();
        return 1;
      });
      yield(inner());
    });
    static_cast<void>(outer->begin());
  };
  EXPECT_DEATH(destroy_its_caller(), "sennit: a coroutine that is running was destroyed");
}
#endif

TEST(CoroutineDeathTest, SwallowingTheUnwindEndsWithAMessage) {
  EXPECT_DEATH(
      {
        coroutine<int()> c([](auto& self) {
          for (;;) {
            try {
              self.yield(1);
            } catch (...) {
            }
          }
          return 0;
        });
        c();
      },
      "must rethrow");
}

}  // namespace
