// Yields that give up the stack, and do not come back.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/fiber_local.hpp"
#include "sennit/generator.hpp"
#include "sennit/no_yield_guard.hpp"
#include "sennit/stop_guard.hpp"
#include "support/counted.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;
namespace this_fiber = sennit::this_fiber;
using support::counted;

template <class Kind>
class YieldContinuation : public sennit::kind_test<Kind> {};

// A fiber that yields deep in its function, again and again: until `left` is 0.
template <class Kind>
struct steps {
  int* left;
  std::atomic<int>* frames;
  int came_back = 0;

  [[gnu::noinline]] void yield_deep(int depth) {
    const counted in_the_frame(*frames);
    if (depth > 0)
      yield_deep(depth - 1);
    else
      Kind::yield();
    ++came_back;
  }
  static void go_on(steps self) {
    EXPECT_EQ(*self.frames, 0) << "the frames have been unwound";
    if (--*self.left == 0)
      return this_fiber::clear_yield_continuation();
    self.yield_deep(5);
    ADD_FAILURE() << "a yield came back";
  }
};

KIND_TEST(YieldContinuation, UnwindsTheFramesAndGoesOnThere) {
  this->run([] {
    int left = 1000;
    std::atomic<int> frames = 0;
    steps<Kind> all{&left, &frames};
    auto fiber = Kind::spawn([&] {
      this_fiber::set_yield_continuation(steps<Kind>::go_on, all);
      all.yield_deep(5);
      ADD_FAILURE() << "a yield came back";
    });
    fiber.join();
    EXPECT_EQ(left, 0);
    EXPECT_EQ(frames, 0);
    EXPECT_EQ(all.came_back, 0);
  });
}

// What C code began in these frames, and would have ended.
KIND_TEST(YieldContinuation, MayBeMadeToYieldThere) {
  this->run([] {
    bool there = false;
    Kind::spawn([&] {
      this_fiber::set_yield_continuation([&] {
        EXPECT_EQ(*sennit::detail::no_yield_count(), 0u);
        there = true;
      });
      sennit_no_yield_begin();
      Kind::yield();
    }).join();
    EXPECT_TRUE(there);
  });
}

// Of a fiber whose function returns a continuation, that blocks by one, keeps a name and values, and has a
// function object that is destroyed once.
KIND_TEST(YieldContinuation, StaysWithItsFiberWhileThatBlocksWithoutAStack) {
  static sennit::fiber_local<int> value;
  std::atomic<int> bodies = 0;
  std::atomic<bool> spawned = false;  // then the caller has no body either
  std::string seen;
  this->run([&] {
    auto fiber = Kind::spawn(
        [&, own = counted(bodies)]() -> continuation {
          while (!spawned)
            Kind::yield();
          *value = 7;
          this_fiber::set_yield_continuation([&] {
            EXPECT_EQ(bodies, 0);
            seen += sennit::detail::fiber_name(*sennit::detail::this_worker()->ready.current);
            seen += std::to_string((*value)++);
            if (*value == 10)
              return continuation();
            return become(this_fiber::sleeping_for(1ms), [] { Kind::yield(); });
          });
          return become(this_fiber::yielding(), [&] {
            seen += '-';
            Kind::yield();
          });
        },
        {.name = "x"});
    spawned = true;
    fiber.join();
  });
  EXPECT_EQ(seen, "-x7x8x9");
  EXPECT_EQ(bodies, 0);
}

// What a check in compiled code calls.
struct forced_steps {
  int left = 6;
  int begun = 0;
  int came_back = 0;
  int destroyed = 0;

  [[gnu::noinline]] void compute() {
    while (left-- > 0) {
      sennit_forced_yield();
      ++came_back;
    }
  }
  [[gnu::noinline]] void compute_above_an_object() {
    struct counts {
      ~counts() { ++*n; }
      int* n;
    } const object{&destroyed};
    compute();
  }
  static void go_on(forced_steps* self) {
    ++self->begun;
    self->compute();
  }
  static void begin(forced_steps* self) {
    this_fiber::set_yield_continuation(&forced_steps::go_on, self);
    self->compute();
  }
};

KIND_TEST(YieldContinuation, IsWhereAForcedYieldGoesOn) {
  forced_steps steps;
  this->run([&] { Kind::spawn(become(this_fiber::yielding(), &forced_steps::begin, &steps)).join(); });
#if defined(SENNIT_SANITIZED)  // its cleanups are everywhere
  EXPECT_EQ(steps.begun, 0);
#else
  EXPECT_EQ(steps.begun, 6);
  EXPECT_EQ(steps.came_back, 0);
#endif
}

// A compiler may put that function into Sennit's first frame, which catches everything. Its table then does
// not say what the function has to destroy.
KIND_TEST(YieldContinuation, LeavesAForcedYieldAloneInTheFunctionThatAFiberBeganWith) {
  forced_steps steps;
  this->run([&] {
    Kind::spawn([&]() -> continuation {
      struct counts {
        ~counts() { ++*n; }
        int* n;
      } const object{&steps.destroyed};
      this_fiber::set_yield_continuation(&forced_steps::go_on, &steps);
      steps.compute();
      return {};
    }).join();
  });
  EXPECT_EQ(steps.begun, 0);
  EXPECT_EQ(steps.came_back, 6);
  EXPECT_EQ(steps.destroyed, 1);
}

KIND_TEST(YieldContinuation, LeavesAForcedYieldAloneWhereSomethingIsToBeDestroyed) {
  forced_steps steps;
  this->run([&] {
    Kind::spawn(become(
                    this_fiber::yielding(),
                    [](forced_steps* mine) {
                      this_fiber::set_yield_continuation(&forced_steps::go_on, mine);
                      mine->compute_above_an_object();
                    },
                    &steps))
        .join();
  });
  EXPECT_EQ(steps.begun, 0);
  EXPECT_EQ(steps.came_back, 6);
  EXPECT_EQ(steps.destroyed, 1);
}

KIND_TEST(YieldContinuation, LeavesAForcedYieldAloneInACatchBlockAGeneratorOrBehindAShield) {
  forced_steps steps;
  this->run([&] {
    const auto all = [](forced_steps* mine) {
      this_fiber::set_yield_continuation(&forced_steps::go_on, mine);
      mine->left = 1;
      try {
        throw 1;
      } catch (int) {
        mine->compute();
      }
      mine->left = 1;
      sennit::generator<int> numbers([mine](auto& yield) {
        mine->compute();
        yield(1);
      });
      for (const int one : numbers)
        EXPECT_EQ(one, 1);
      mine->left = 1;
      const sennit::stop_shield shield;
      mine->compute();
    };
    Kind::spawn(become(this_fiber::yielding(), all, &steps)).join();
  });
  EXPECT_EQ(steps.begun, 0);
  EXPECT_EQ(steps.came_back, 3);
}

KIND_TEST(YieldContinuation, IsDestroyedWhenItIsClearedOrSetAnew) {
  std::atomic<int> alive = 0;
  this->run([&] {
    Kind::spawn([&] {
      this_fiber::set_yield_continuation([](const counted&) {}, counted(alive));
      EXPECT_EQ(alive, 1);
      this_fiber::set_yield_continuation([](const counted&) {}, counted(alive));
      EXPECT_EQ(alive, 1);
      this_fiber::clear_yield_continuation();
      EXPECT_EQ(alive, 0);
      this_fiber::clear_yield_continuation();
      Kind::yield();  // comes back
      this_fiber::set_yield_continuation([](const counted&) {}, counted(alive));
    }).join();
    EXPECT_EQ(alive, 0) << "and at the fiber's end";
  });
}

// States of any size, owned by others too; each yield gets a copy.
KIND_TEST(YieldContinuation, GoesOnWithACopyOfItsState) {
  this->run([] {
    auto shared = std::make_shared<int>(0);
    std::array<char, 500> large{};
    large[499] = 'x';
    Kind::spawn([&] {
      this_fiber::set_yield_continuation(
          [shared](std::array<char, 500>& mine) {
            EXPECT_EQ(mine[499], 'x');
            mine[499] = 'y';
            if (++*shared < 3)
              Kind::yield();
          },
          large);
      Kind::yield();
    }).join();
    EXPECT_EQ(*shared, 3);
    EXPECT_EQ(shared.use_count(), 1);
  });
}

KIND_TEST(YieldContinuation, HasNoStackWhileOthersRun) {
  this->run([] {
    std::atomic<bool> seen = false;
    std::atomic<bool> ended = false;
    int turns = 0;
    auto fiber = Kind::spawn_here([&] {
      this_fiber::set_yield_continuation([&] {
        if (!seen && ++turns < 100'000)  // another worker may run it before we have looked
          Kind::yield();
        ended = true;
      });
      Kind::yield();
    });
    while (!ended) {
      if (sennit::count_descriptors(
              [](const auto& each) { return sennit::detail::look(each.flags.stackless); }) != 0)
        seen = true;
      Kind::yield();
    }
    fiber.join();
    EXPECT_TRUE(seen);
  });
}

KIND_TEST(YieldContinuation, UnwindsAGenerator) {
  this->run([] {
    std::atomic<int> alive = 0;
    bool went_on = false;
    Kind::spawn([&] {
      this_fiber::set_yield_continuation([&] {
        EXPECT_EQ(alive, 0);
        went_on = true;
      });
      sennit::generator<int> numbers([&](auto& out) {
        const counted in_the_frame(alive);
        Kind::yield();
        out(1);
      });
      for (int each : numbers)
        ADD_FAILURE() << each;
    }).join();
    EXPECT_TRUE(went_on);
  });
}

// Where nothing may be thrown yields are as others.
KIND_TEST(YieldContinuation, ComesBackBehindAShieldAndInDestructorsThatAnExceptionRuns) {
  this->run([] {
    int came_back = 0;
    int went_on = 0;
    Kind::spawn([&] {
      struct yielding {
        ~yielding() {
          Kind::yield();
          ++*count;
        }
        int* count;
      };
      this_fiber::set_yield_continuation([&] { ++went_on; });
      try {
        const yielding at_its_end{&came_back};
        throw std::runtime_error("planted");
      } catch (const std::runtime_error&) {
      }
      {
        const sennit::stop_shield shield;
        Kind::yield();
        ++came_back;
      }
      EXPECT_EQ(went_on, 0);
      try {
        throw std::runtime_error("planted");
      } catch (const std::runtime_error&) {
        Kind::yield();  // a handler is left as any other frame
      }
      ADD_FAILURE() << "a yield came back";
    }).join();
    EXPECT_EQ(came_back, 2);
    EXPECT_EQ(went_on, 1);
  });
}

KIND_TEST(YieldContinuation, BringsItsExceptionsToTheJoiner) {
  this->run([] {
    auto fiber = Kind::spawn([] {
      this_fiber::set_yield_continuation([] { throw std::runtime_error("planted"); });
      Kind::yield();
    });
    EXPECT_THROW(fiber.join(), std::runtime_error);
  });
}

// A fiber that does nothing else but yield ends with its runtime; so does one whose frames wait meanwhile.
KIND_TEST(YieldContinuation, EndsWithItsRuntime) {
  std::atomic<int> alive = 0;
  std::atomic<int> rounds = 0;
  {
    Kind other;
    other.run([&] {
      for (int i = 0; i < 4; ++i)
        Kind::spawn([&] {
          struct spin {
            static void on(const counted& state, std::atomic<int>* rounds) {
              const counted in_the_frame(state);
              ++*rounds;
              Kind::yield();
            }
          };
          this_fiber::set_yield_continuation([&rounds](const counted& state) { spin::on(state, &rounds); },
                                             counted(alive));
          Kind::yield();
        }).detach();
      Kind::spawn([&] {
        this_fiber::set_yield_continuation([](const counted&) { ADD_FAILURE(); }, counted(alive));
        const counted in_the_frame(alive);
        Kind::sleep_for(std::chrono::hours(1));
      }).detach();
      while (rounds < 100)
        Kind::yield();
    });
  }
  EXPECT_GE(rounds, 100);
  EXPECT_EQ(alive, 0);
}

// Many at once, on whichever worker.
KIND_TEST(YieldContinuation, IsEachFibersOwn) {
  constexpr int fibers = 50;
  constexpr int rounds = 40;
  std::atomic<int> done = 0;
  this->run([&] {
    struct mine {
      int number;
      int* count;
      std::atomic<int>* done;
      static void go_on(mine self) {
        if (++*self.count == rounds) {
          this_fiber::clear_yield_continuation();
          Kind::yield();
          *self.done += self.number;
        } else {
          Kind::yield();
        }
      }
    };
    std::vector<int> counts(fibers);
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < fibers; ++i)
      all.push_back(Kind::spawn([&, i] {
        this_fiber::set_yield_continuation(mine::go_on, mine{i, &counts[static_cast<std::size_t>(i)], &done});
        Kind::yield();
      }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(counts, std::vector<int>(fibers, rounds));
  });
  EXPECT_EQ(done, fibers * (fibers - 1) / 2);
}

}  // namespace
