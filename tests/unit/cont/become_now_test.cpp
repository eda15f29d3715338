// The form of become that does not return.
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/coroutine.hpp"
#include "sennit/detail/observe/held_locks.hpp"
#include "sennit/generator.hpp"
#include "sennit/no_yield_guard.hpp"
#include "sennit/stop_guard.hpp"
#include "support/child.hpp"
#include "support/counted.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::become_now;
using sennit::continuation;
namespace this_fiber = sennit::this_fiber;
using support::counted;

#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED)
constexpr bool looks = true;
#else
constexpr bool looks = false;
#endif

// To look takes longer than all else, and so does to tell a sanitizer that a stack has another user, or to
// emulate a CPU.
#if defined(SENNIT_SANITIZED) || defined(SUPPORT_EMULATED)
constexpr std::uint64_t loops_of_build = 10'000;
#else
constexpr std::uint64_t loops_of_build = looks ? 100'000 : 1'000'000;
#endif

template <class Kind>
class BecomeNow : public sennit::kind_test<Kind> {};

[[gnu::noinline]] void count_down_deep(std::uint64_t left, std::uint64_t* end, int depth) {
  volatile char frame[64] = {};
  if (depth > 0)
    return count_down_deep(left + static_cast<std::uint64_t>(frame[1]), end, depth - 1);
  struct state {
    std::uint64_t left;
    std::uint64_t* end;
  };
  if (left == 0)
    *end = 1;
  else
    become_now(
        this_fiber::yielding(), [](state now) { count_down_deep(now.left - 1, now.end, 3); },
        state{left, end});
}

// What C code began in the frames that are left, and would have ended.
KIND_TEST(BecomeNow, MayBeMadeToYieldThere) {
  this->run([] {
    bool there = false;
    Kind::spawn([&] {
      sennit_no_yield_begin();
      become_now(this_fiber::yielding(), [&there = there] {
        EXPECT_EQ(*sennit::detail::no_yield_count(), 0u);
        there = true;
      });
    }).join();
    EXPECT_TRUE(there);
  });
}

// A stack would not hold a frame for each.
KIND_TEST(BecomeNow, LoopsInConstantStack) {
  this->run([] {
    std::uint64_t end = 0;
    Kind::spawn([&end] { count_down_deep(loops_of_build, &end, 3); }).join();
    EXPECT_EQ(end, 1u);
  });
}

// The fiber's function object is destroyed, once; the frames are not.
KIND_TEST(BecomeNow, DestroysTheFunctionObject) {
  std::atomic<int> alive = 0;
  int went_on = 0;
  this->run([&] {
    std::array<char, 200> large{};
    auto small_one = Kind::spawn([&, own = counted(alive)] {
      become_now([&] {
        EXPECT_EQ(alive, 1);
        ++went_on;
      });
    });
    auto large_one = Kind::spawn([&, large, own = counted(alive)]() -> continuation {
      if (large[0] != 0)
        return {};
      become_now([&] {
        EXPECT_EQ(alive, 0);
        ++went_on;
      });
    });
    sennit::until_stackless<Kind>(2);
    EXPECT_EQ(alive, 0);
    alive = 1;
    small_one.unpark();
    small_one.join();
    alive = 0;
    large_one.unpark();
    large_one.join();
  });
  EXPECT_EQ(went_on, 2);
}

KIND_TEST(BecomeNow, WaitsByWhateverBecomeDoes) {
  std::string seen;
  this->run([&] {
    typename Kind::template channel<int> numbers;
    typename Kind::event wanted;
    auto fiber = Kind::spawn(
        [&] {
          become_now(wanted.waiting(), [&] {
            seen += 'e';
            become_now(this_fiber::sleeping_for(1ms), [&] {
              seen += 's';
              become_now(
                  this_fiber::parking_until(std::chrono::steady_clock::now() + 1ms), [&](bool unparked) {
                    seen += unparked ? 'u' : 't';
                    become_now(
                        numbers.receiving(),
                        [&](std::string* to, std::optional<int> number) {
                          *to += std::to_string(*number);
                          *to += sennit::detail::fiber_name(*sennit::detail::this_worker()->ready.current);
                          throw std::runtime_error("planted");
                        },
                        &seen);
                  });
            });
          });
        },
        {.name = "n"});
    wanted.set();
    numbers.send(4);
    EXPECT_THROW(fiber.join(), std::runtime_error);
  });
  EXPECT_EQ(seen, "est4n");
}

// One that was blocked with a stack, by spawn_now or pinned, is none other.
TEST(BecomeNow, LeavesACallBySpawnNow) {
  sennit::runtime runtime({.workers = 2});
  runtime.run([] {
    std::atomic<int> went_on = 0;
    for (int i = 0; i < 100; ++i)
      sennit::spawn_now([&] { become_now(this_fiber::yielding(), [&] { ++went_on; }); }).join();
    EXPECT_EQ(went_on, 100);
  });
}

KIND_TEST(BecomeNow, LetsGuardsGo) {
  if (looks)
    GTEST_SKIP() << "a guard has a destructor, which is reported";
  this->run([] {
    std::stop_source source;
    static bool reached_the_end;
    reached_the_end = false;
    auto fiber = Kind::spawn([&] {
      const sennit::stop_guard guard(source.get_token());
      become_now([&source] {
        source.request_stop();
        Kind::sleep_for(1ms);  // where a guard would end it
        reached_the_end = true;
      });
    });
    sennit::until_stackless<Kind>(1);
    fiber.unpark();
    fiber.join();
    EXPECT_TRUE(reached_the_end);
  });
}

KIND_TEST(BecomeNow, EndsWithItsRuntime) {
  std::atomic<int> alive = 0;
  std::atomic<int> rounds = 0;
  {
    Kind other;
    other.run([&] {
      for (int i = 0; i < 4; ++i)
        Kind::spawn([own = counted(alive), &rounds, i] {
          if (i % 2 == 0)
            become_now([] { ADD_FAILURE(); });
          struct spin {
            static void on(std::atomic<int>* rounds) {
              ++*rounds;
              become_now(this_fiber::yielding(), on, rounds);
            }
          };
          spin::on(&rounds);
        }).detach();
      while (rounds < 100)
        Kind::yield();
    });
  }
  EXPECT_EQ(alive, 0);
}

// ---- The messages, and the builds that print them.

// qemu-user cannot start a thread in a child of a process that has some.
#if defined(SUPPORT_EMULATED)
template <class Kind>
constexpr bool runs_in_child = std::is_same_v<Kind, sennit::local_kind>;
#else
template <class Kind>
constexpr bool runs_in_child = true;
#endif
template <class Kind>
constexpr bool looks_in_child = looks && runs_in_child<Kind>;

template <class Kind, class Function>
void dies(Function function, const std::string& message) {
  const auto said = support::in_child([&] {
    Kind kind;
    kind.run([&] { Kind::spawn(function, {.name = "leaver"}).join(); });
  });
  EXPECT_TRUE(said.killed_by(SIGABRT)) << said;
  EXPECT_TRUE(said.says("sennit: become_now: fiber \"leaver\" " + message)) << said;
}

}  // namespace

// Its name appears in the message.
[[gnu::noinline]] void function_with_a_destructor(std::atomic<int>& n) {
  const counted in_the_frame(n);
  become_now([] {});
}
[[gnu::noinline]] void function_in_between(std::atomic<int>& n, const std::function<void()>& called) {
  const counted in_the_frame(n);
  called();
}

namespace {

KIND_TEST(BecomeNow, NamesWhoHasSomethingToDestroy) {
  if (!looks_in_child<Kind>)
    GTEST_SKIP() << "nobody looks in this build, or a child cannot";
  static std::atomic<int> alive = 0;
  const std::string has =
      "would leave what a function has yet to destroy: end its scope before, or return "
      "sennit::become(...); it is in ";
  dies<Kind>([] { function_with_a_destructor(alive); }, has + "function_with_a_destructor(");
  dies<Kind>([] { function_in_between(alive, [] { become_now([] {}); }); }, has + "function_in_between(");
  dies<Kind>([] { function_in_between(alive, [] { become_now(this_fiber::sleeping_for(1ms), [] {}); }); },
             has + "function_in_between(");
}

KIND_TEST(BecomeNow, SaysThatAnExceptionIsHandled) {
  if (!looks_in_child<Kind>)
    GTEST_SKIP() << "nobody looks in this build, or a child cannot";
  dies<Kind>(
      [] {
        try {
          throw 1;
        } catch (int) {
          become_now([] {});
        }
      },
      "handles an exception");
  static volatile bool goes = true;  // or compilers know that no handler is ever reached, and drop all
  dies<Kind>(
      [] {
        struct leaves {
          ~leaves() {
            if (goes)
              become_now([] {});
          }
        };
        try {
          const leaves at_its_end;
          throw 1;
        } catch (int) {
        }
      },
      "would leave destructors that run because of an exception");
}

KIND_TEST(BecomeNow, SaysThatACoroutineIsUnfinished) {
  if (!looks_in_child<Kind>)
    GTEST_SKIP() << "nobody looks in this build, or a child cannot";
  dies<Kind>(
      [] {
        sennit::generator<int> numbers([](auto& out) {
          become_now([] {});
          out(1);
        });
        for (int each : numbers)
          static_cast<void>(each);
      },
      "would leave a generator, a coroutine or a call on a large stack unfinished");
}

// A frame that only catches has nothing to destroy.
KIND_TEST(BecomeNow, LeavesATryBlock) {
  this->run([] {
    int went_on = 0;
    Kind::spawn([&] {
      try {
        become_now(this_fiber::yielding(), [&] { ++went_on; });
      } catch (const std::exception&) {
        ADD_FAILURE();
      }
    }).join();
    EXPECT_EQ(went_on, 1);
  });
}

#if defined(SENNIT_KNOWS_HELD_LOCKS)
KIND_TEST(BecomeNow, ReportsAHeldLock) {
  if (!runs_in_child<Kind>)
    GTEST_SKIP() << "a child cannot";
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto said = support::in_child([] {
    Kind().run([] {
      Kind::spawn([] {
        pthread_mutex_lock(&mutex);
        become_now(this_fiber::yielding(), [] {});
      }).join();
    });
  });
  EXPECT_TRUE(said.exited(0)) << said;
  EXPECT_TRUE(said.says(" blocks without its stack and holds pthread mutex 0x")) << said;
}
#endif

TEST(BecomeNow, IsForFibers) {
  const auto said = support::in_child([] { become_now([] {}); });
  EXPECT_TRUE(said.killed_by(SIGABRT)) << said;
  EXPECT_TRUE(said.says("sennit: become_now: there is no fiber here")) << said;
}

}  // namespace
