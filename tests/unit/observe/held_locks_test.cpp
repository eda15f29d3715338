// A fiber that switches with a pthread lock held is reported if the library knows of the lock: in builds with
// assertions, without a sanitizer. (In a build with a sanitizer, the sanitizer would report these tests.)
#include "sennit/detail/observe/held_locks.hpp"

#include <gtest/gtest.h>

#if !defined(SENNIT_SANITIZED)

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include "sennit/channel.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "support/any_runtime.hpp"
#include "support/child.hpp"
#include "support/reports.hpp"

using namespace std::chrono_literals;
using support::outcome;

namespace {

#if defined(SENNIT_KNOWS_HELD_LOCKS)
constexpr bool known = true;
#else
constexpr bool known = false;
#endif

int count(const outcome& of, const std::string& what) {
  int found = 0;
  for (std::size_t at = 0; (at = of.said.find(what, at)) != std::string::npos; at += what.size())
    ++found;
  return found;
}

// What the report says of a lock.
std::string named(const char* kind, const void* lock) {
  char text[64];
  std::snprintf(text, sizeof text, "%s %p", kind, lock);
  return text;
}

const std::string holds = " and holds pthread ";

// In a process of its own, in a fiber: what it said. Places are reported once in a process.
class HeldLocks : public testing::TestWithParam<unsigned> {
protected:
  const support::any_runtime here{GetParam()};

  template <class Function>
  outcome in_fiber(Function function) {
    const outcome result = support::in_child([&] { here.run([&] { function(); }); });
    EXPECT_TRUE(result.exited(0)) << result;
    return result;
  }

  // `lock` locks what `unlock` unlocks: said to hold `what` if it waits between the two, and only then.
  void expect_known(const char* kind_of_lock, const void* what, const std::function<bool()>& lock,
                    const std::function<void()>& unlock) {
    const outcome held = in_fiber([&] {
      EXPECT_TRUE(lock());
      here.sleep();
      unlock();
      here.sleep();
      here.yield();
    });
    EXPECT_EQ(count(held, "sennit: "), known) << held;
    EXPECT_EQ(held.says(holds + named(kind_of_lock, what)), known) << held;
    const outcome let_go = in_fiber([&] {
      for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(lock());
        unlock();
        here.sleep();
        here.yield();
      }
    });
    EXPECT_EQ(let_go.said, "");
  }
};

timespec in_a_second(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  ++time.tv_sec;
  return time;
}

TEST_P(HeldLocks, OfEachFunctionOfMutexes) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto unlock = [] { pthread_mutex_unlock(&mutex); };
  expect_known("mutex", &mutex, [] { return pthread_mutex_lock(&mutex) == 0; }, unlock);
  expect_known("mutex", &mutex, [] { return pthread_mutex_trylock(&mutex) == 0; }, unlock);
  expect_known(
      "mutex", &mutex,
      [] {
        const timespec until = in_a_second(CLOCK_REALTIME);
        return pthread_mutex_timedlock(&mutex, &until) == 0;
      },
      unlock);
  expect_known(
      "mutex", &mutex,
      [] {
        const timespec until = in_a_second(CLOCK_MONOTONIC);
        return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until) == 0;
      },
      unlock);
}

TEST_P(HeldLocks, OfEachFunctionOfRwlocks) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const auto unlock = [] { pthread_rwlock_unlock(&lock); };
  expect_known("rwlock", &lock, [] { return pthread_rwlock_rdlock(&lock) == 0; }, unlock);
  expect_known("rwlock", &lock, [] { return pthread_rwlock_tryrdlock(&lock) == 0; }, unlock);
  expect_known("rwlock", &lock, [] { return pthread_rwlock_wrlock(&lock) == 0; }, unlock);
  expect_known("rwlock", &lock, [] { return pthread_rwlock_trywrlock(&lock) == 0; }, unlock);
  const auto with_time = [](int (*function)(pthread_rwlock_t*, const timespec*)) {
    return [function] {
      const timespec until = in_a_second(CLOCK_REALTIME);
      return function(&lock, &until) == 0;
    };
  };
  expect_known("rwlock", &lock, with_time(pthread_rwlock_timedrdlock), unlock);
  expect_known("rwlock", &lock, with_time(pthread_rwlock_timedwrlock), unlock);
  const auto with_clock = [](int (*function)(pthread_rwlock_t*, clockid_t, const timespec*)) {
    return [function] {
      const timespec until = in_a_second(CLOCK_MONOTONIC);
      return function(&lock, CLOCK_MONOTONIC, &until) == 0;
    };
  };
  expect_known("rwlock", &lock, with_clock(pthread_rwlock_clockrdlock), unlock);
  expect_known("rwlock", &lock, with_clock(pthread_rwlock_clockwrlock), unlock);
}

TEST_P(HeldLocks, OfEachFunctionOfSpinLocks) {
  static pthread_spinlock_t lock;
  ASSERT_EQ(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE), 0);
  const auto address = const_cast<const int*>(&lock);
  const auto unlock = [] { pthread_spin_unlock(&lock); };
  expect_known("spin lock", address, [] { return pthread_spin_lock(&lock) == 0; }, unlock);
  expect_known("spin lock", address, [] { return pthread_spin_trylock(&lock) == 0; }, unlock);
}

TEST_P(HeldLocks, OfTheStandardLibrary) {
  static std::mutex mutex;
  static std::timed_mutex timed;
  static std::shared_mutex shared;
  expect_known(
      "mutex", &mutex,
      [] {
        mutex.lock();
        return true;
      },
      [] { mutex.unlock(); });
  expect_known("mutex", &timed, [] { return timed.try_lock_for(1s); }, [] { timed.unlock(); });
  expect_known(
      "rwlock", &shared,
      [] {
        shared.lock_shared();
        return true;
      },
      [] { shared.unlock_shared(); });
}

// Locked twice, it is held until it has been unlocked twice.
TEST_P(HeldLocks, ARecursiveMutex) {
  static std::recursive_mutex mutex;
  const auto lock_twice = [] {
    mutex.lock();
    return mutex.try_lock();
  };
  expect_known("mutex", &mutex, lock_twice, [] {
    mutex.unlock();
    mutex.unlock();
  });
  const outcome held_once = in_fiber([&] {
    EXPECT_TRUE(lock_twice());
    mutex.unlock();
    here.sleep();
    mutex.unlock();
  });
  EXPECT_EQ(held_once.says(holds), known) << held_once;
}

TEST_P(HeldLocks, AreNamedWithTheFiberItsWaitAndThePlace) {
  std::mutex first, second;
  const outcome said = in_fiber([&] {
    if (here.workers == 0)
      sennit::local::this_fiber::set_name("holder");
    else
      sennit::this_fiber::set_name("holder");
    const std::lock_guard one(first);
    const std::lock_guard two(second);
    here.sleep();
    std::printf("fiber %ju was it", static_cast<std::uintmax_t>(here.id()));
  });
  if (!known)
    return;
  EXPECT_TRUE(said.says(" \"holder\" waits (sleep)" + holds + named("mutex", &first) + ", " +
                        named("mutex", &second) + "\n"))
      << said;
  const std::size_t number = said.said.find("fiber ");
  EXPECT_EQ(count(said, said.said.substr(number, said.said.find(' ', number + 6) + 1 - number)), 2) << said;
  EXPECT_TRUE(said.says("  #0 ")) << said;
  if (has_backtraces) {
    EXPECT_TRUE(said.says("_until")) << said;
  }
  EXPECT_EQ(said.says("may resume on another thread"), here.workers != 0) << said;
}

TEST_P(HeldLocks, OncePerPlace) {
  std::mutex mutex;
  const outcome said = in_fiber([&] {
    for (int i = 0; i < 100; ++i) {
      const std::lock_guard hold(mutex);
      here.sleep();
    }
    const std::lock_guard hold(mutex);
    here.sleep();
  });
  EXPECT_EQ(count(said, holds), 2 * known) << said;
}

// In all that gives a thread to others.
TEST_P(HeldLocks, InEveryWay) {
  std::mutex mutex;
  const auto holding = [&](const std::function<void()>& leave) {
    return in_fiber([&] {
      mutex.lock();
      leave();
      mutex.unlock();
    });
  };
  const outcome yields = holding([&] { here.yield(); });
  EXPECT_EQ(yields.says(" yields" + holds), known) << yields;
  const outcome joins = holding([&] {
    if (here.workers == 0)
      here.spawn_and_join([] {});
    else  // here, or it may have ended elsewhere before it is joined
      sennit::spawn([] {}, {.pinned = sennit::this_fiber::worker()}).join();
  });
  EXPECT_EQ(joins.says(" waits (join)" + holds), known) << joins;
  const outcome receives = holding([&] {
    if (here.workers == 0) {
      sennit::local::channel<int> numbers;
      EXPECT_FALSE(numbers.receive_until(std::chrono::steady_clock::now() + 1ms));
    } else {
      sennit::channel<int> numbers;
      EXPECT_FALSE(numbers.receive_until(std::chrono::steady_clock::now() + 1ms));
    }
  });
  EXPECT_EQ(receives.says(" waits (channel"), known) << receives;
  const outcome is_made_to = holding([] { sennit_forced_yield(); });  // not compiled with checks, as it ought
  EXPECT_EQ(is_made_to.says(" is made to yield" + holds), known) << is_made_to;
  if (here.workers != 0) {
    const outcome calls = holding([&] { sennit::spawn_now([] {}).join(); });
    EXPECT_EQ(calls.says(" calls spawn_now" + holds), known) << calls;
  }
}

// The next that runs with the same descriptor, as a fiber does, is not taken for it.
TEST_P(HeldLocks, AtAFibersEnd) {
  std::mutex mutex;
  const outcome said = in_fiber([&] {
    here.spawn_and_join([&] { mutex.lock(); });
    for (int i = 0; i < 5; ++i)
      here.spawn_and_join([&] { here.sleep(); });
    mutex.unlock();
  });
  EXPECT_EQ(count(said, holds), known) << said;
  EXPECT_EQ(said.says(" ends" + holds), known) << said;
}

TEST_P(HeldLocks, NoneWhereNothingWasLocked) {
  std::mutex mutex;
  const outcome said = in_fiber([&] {
    std::atomic<bool> locked{false}, done{false};
    std::thread other([&] {
      mutex.lock();
      locked = true;
      while (!done)
        std::this_thread::sleep_for(1ms);
      mutex.unlock();
    });
    while (!locked)
      here.sleep();
    EXPECT_FALSE(mutex.try_lock());
    for (int i = 0; i < 5; ++i)
      here.sleep();
    done = true;
    other.join();
  });
  EXPECT_EQ(said.said, "");
}

// It unlocks, and locks again, without being seen.
TEST_P(HeldLocks, NoneAfterWaitsForACondition) {
  const outcome said = in_fiber([&] {
    std::mutex mutex;
    std::condition_variable changed;
    bool asked = false, answered = false;
    std::thread other([&] {
      std::unique_lock hold(mutex);
      changed.wait(hold, [&] { return asked; });
      answered = true;
      changed.notify_one();
    });
    here.sleep();
    {
      std::unique_lock hold(mutex);
      asked = true;
      changed.notify_one();
      EXPECT_TRUE(changed.wait_for(hold, 10s, [&] { return answered; }));
    }
    here.sleep();
    other.join();
  });
  EXPECT_EQ(said.said, "");
}

// What the thread has locked outside of fibers is none of theirs.
TEST_P(HeldLocks, NoneOfTheHosts) {
  const outcome said = support::in_child([&] {
    std::mutex mutex;
    const std::lock_guard hold(mutex);
    here.run([&] {
      here.sleep();
      here.yield();
    });
  });
  EXPECT_TRUE(said.exited(0)) << said;
  EXPECT_EQ(said.said, "");
}

TEST_P(HeldLocks, MoreThanAreNoted) {
  std::mutex all[20];
  const outcome said = in_fiber([&] {
    for (std::mutex& each : all)
      each.lock();
    here.sleep();
    for (std::mutex& each : all)
      each.unlock();
    here.yield();
    const std::lock_guard hold(all[0]);
  });
  EXPECT_EQ(count(said, holds), known) << said;
}

INSTANTIATE_TEST_SUITE_P(Runtimes, HeldLocks, testing::Values(0u, 1u, 2u), support::runtime_name);

// Unlocked on another thread than the one that locked: neither is taken for a holder after that.
TEST(HeldLocksOfParallelRuntimes, UnlockedElsewhere) {
  const outcome said = support::in_child([] {
    sennit::detail::force_migration = true;
    sennit::runtime({.workers = 2}).run([] {
      std::mutex mutex;
      mutex.lock();
      const unsigned before = sennit::this_fiber::worker();
      do  // more than once, if the other worker is stuck: then this one takes back what it sent
        sennit::this_fiber::yield();
      while (sennit::this_fiber::worker() == before);
      mutex.unlock();
      for (int i = 0; i < 10; ++i)
        sennit::this_fiber::yield();
    });
  });
  EXPECT_TRUE(said.exited(0)) << said;
  EXPECT_EQ(count(said, holds), known) << said;
}

// It stays on its thread, but others there may want the lock.
TEST(HeldLocksOfParallelRuntimes, OfAPinnedFiber) {
  const outcome said = support::in_child([] {
    sennit::runtime runtime({.workers = 2});
    runtime
        .spawn(
            [] {
              std::mutex mutex;
              const std::lock_guard hold(mutex);
              sennit::this_fiber::sleep_for(1ms);
            },
            {.pinned = 1})
        .join();
  });
  EXPECT_TRUE(said.exited(0)) << said;
  EXPECT_EQ(said.says("another fiber of this thread that locks it"), known) << said;
}

}  // namespace

#endif
