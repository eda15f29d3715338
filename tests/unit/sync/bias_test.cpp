// Objects that are biased towards a worker.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/biased.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"
#include "sennit/select.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

constexpr wait_options biased{.bias = true};

static_assert(sizeof(void*) != 8 || sizeof(mutex) == 32, "a bias needs no memory");
static_assert(sizeof(mutex) == sizeof(local::mutex));
static_assert(sizeof(condition_variable) == sizeof(mutex));
static_assert(sizeof(biased_channel<int>) == sizeof(channel<int>));

// Locks and unlocks it once on that worker, and so makes it biased, or removes the bias.
void use_on(runtime& rt, mutex& guard, unsigned worker) {
  rt.spawn([&] { const std::lock_guard hold(guard); }, {.pinned = worker}).join();
}

TEST(Bias, FibersOfOneWorkerKeepOthersOut) {
  runtime rt({.workers = 1});
  rt.run([] {
    mutex guard(biased);
    condition_variable changed(biased);
    int counter = 0, turns = 0;
    scope all;
    for (int i = 0; i < 8; ++i)
      all.spawn([&] {
        for (int n = 0; n < 100; ++n) {
          const std::lock_guard hold(guard);
          const int before = counter;
          if (n % 8 == 0)
            this_fiber::yield();
          counter = before + 1;
        }
        std::unique_lock lock(guard);
        ++turns;
        changed.notify_all();
        changed.wait(lock, [&] { return turns == 8; });
      });
    all.join();
    EXPECT_EQ(counter, 800);
  });
}

// Holds it on worker 0, where it is biased, until `wanted`; then returns.
fiber hold_on_worker_0(runtime& rt, mutex& guard, std::atomic<bool>& held, const std::atomic<bool>& wanted) {
  return rt.spawn(
      [&] {
        const std::lock_guard hold(guard);
        held = true;
        while (!wanted)
          this_fiber::yield();
        for (int i = 0; i < 100; ++i)
          this_fiber::yield();
      },
      {.pinned = 0});
}

TEST(Bias, AFiberOfAnotherWorkerThatHasToWaitMovesToIt) {
  runtime rt({.workers = 2});
  int moved = 0;
  // Another worker may steal the fiber from where it has moved to: then the next try shows it.
  for (int tries = 0; tries < 1000 && moved == 0; ++tries) {
    mutex guard(biased);
    std::atomic<bool> held{false}, wanted{false};
    fiber holder = hold_on_worker_0(rt, guard, held, wanted);
    rt.spawn(
          [&] {
            while (!held)
              this_fiber::yield();
            const bool elsewhere = this_fiber::worker() == 1;
            wanted = true;
            guard.lock();
            moved += elsewhere && this_fiber::worker() == 0;
            guard.unlock();
          },
          {.near = 1})
        .join();
    holder.join();
  }
  EXPECT_GT(moved, 0);
}

// A lock_guard of a std::mutex, or a move constructor under a lock of the library, may be around it.
TEST(Bias, ToLockAFreeMutexIsNoSwitch) {
  runtime rt({.workers = 2});
  for (int i = 0; i < 200; ++i) {
    mutex guard(biased);
    use_on(rt, guard, 0);
    bool stayed = false;
    rt.spawn(
          [&] {
            const unsigned before = this_fiber::worker();
            guard.lock();
            stayed = this_fiber::worker() == before;
            guard.unlock();
          },
          {.near = 1})
        .join();
    EXPECT_TRUE(stayed);
  }
}

// Pinned fibers cannot move.
TEST(Bias, WorkersAndThreadsThatCannotMoveKeepOthersOut) {
  for (int round = 0; round < 20; ++round) {
    runtime rt({.workers = 2});
    mutex guard(biased);
    condition_variable changed(biased);
    int counter = 0, ended = 0;
    const auto count = [&] {
      for (int n = 0; n < 500; ++n) {
        const std::lock_guard hold(guard);
        ++counter;
      }
      std::unique_lock lock(guard);
      ++ended;
      changed.notify_all();
      changed.wait(lock, [&] { return ended == 6; });
    };
    std::vector<fiber> fibers;
    for (unsigned i = 0; i < 4; ++i)
      fibers.push_back(rt.spawn(count, {.pinned = i % 2}));
    std::thread first(count), second(count);
    for (fiber& each : fibers)
      each.join();
    first.join();
    second.join();
    EXPECT_EQ(counter, 6 * 500);
  }
}

TEST(Bias, ItsHolderMayMove) {
  detail::force_migration = true;
  runtime rt({.workers = 3});
  detail::force_migration = false;
  rt.run([] {
    mutex guard(biased);
    int counter = 0;
    scope all;
    for (int i = 0; i < 6; ++i)
      all.spawn([&] {
        for (int n = 0; n < 50; ++n) {
          const std::lock_guard hold(guard);
          const int before = counter;
          this_fiber::yield();  // and so moves to the next worker
          counter = before + 1;
        }
      });
    all.join();
    EXPECT_EQ(counter, 300);
  });
}

TEST(Bias, ItOutlivesTheWorker) {
  mutex guard(biased), held(biased);
  {
    runtime rt({.workers = 2});
    use_on(rt, guard, 1);
    rt.spawn([&] { held.lock(); }, {.pinned = 1}).join();
  }
  {
    runtime rt({.workers = 2});  // its workers may have the numbers of the others
    use_on(rt, guard, 0);
    use_on(rt, guard, 1);
    rt.spawn([&] { EXPECT_FALSE(held.try_lock()); }, {.pinned = 1}).join();
  }
  EXPECT_FALSE(held.try_lock());
  held.unlock();
  EXPECT_TRUE(held.try_lock());
  held.unlock();
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

TEST(Bias, OfAnotherRuntimesWorker) {
  runtime one({.workers = 2}), another({.workers = 2});
  mutex guard(biased);
  use_on(one, guard, 0);
  use_on(another, guard, 0);
  use_on(one, guard, 1);
  const std::lock_guard hold(guard);
}

TEST(Bias, WaitsEndByDeadlineByAStopAndWithoutAStack) {
  runtime rt({.workers = 2});
  rt.run([] {
    mutex guard(biased);
    condition_variable changed(biased);
    {
      std::unique_lock lock(guard);
      EXPECT_EQ(changed.wait_for(lock, 1ms), std::cv_status::timeout);
      EXPECT_TRUE(lock.owns_lock());
      bool refused = false;
      spawn([&] { refused = !guard.try_lock_for(1ms); }).join();
      EXPECT_TRUE(refused);
      scope waits;
      bool left = false;
      waits.spawn([&] {
        try {
          guard.lock();
        } catch (const cancelled&) {
          left = true;
          throw;
        }
      });
      this_fiber::yield();
      waits.request_stop();
      waits.join();
      EXPECT_TRUE(left);
    }
    int locked = 0;
    std::unique_lock lock(guard);
    fiber stackless = spawn([&] {
      return become(guard.locking(), [&] {
        ++locked;
        guard.unlock();
      });
    });
    this_fiber::yield();
    lock.unlock();
    stackless.join();
    EXPECT_EQ(locked, 1);
  });
}

// Sends 1, 2, ... to all receivers, from two workers and two threads; each number arrives once.
void send_from_everywhere(std::size_t capacity) {
  constexpr int each_sends = 300;
  runtime rt({.workers = 2});
  biased_channel<int> numbers(capacity);
  std::atomic<long> sum{0};
  const auto send = [&] {
    for (int n = 1; n <= each_sends; ++n)
      EXPECT_TRUE(numbers.send(n));
  };
  const auto receive = [&] {
    for (const int n : numbers)
      sum += n;
  };
  rt.spawn([&] { EXPECT_FALSE(numbers.try_receive()); }, {.pinned = 0}).join();  // now it is biased
  std::vector<fiber> senders, receivers;
  for (unsigned i = 0; i < 4; ++i) {
    senders.push_back(rt.spawn(send, {.pinned = i % 2}));
    receivers.push_back(rt.spawn(receive, {.pinned = i % 2}));
  }
  std::thread sending(send), receiving(receive);
  for (fiber& each : senders)
    each.join();
  sending.join();
  numbers.close();
  for (fiber& each : receivers)
    each.join();
  receiving.join();
  EXPECT_EQ(sum, 5L * each_sends * (each_sends + 1) / 2);
}

TEST(Bias, AChannelThatWorkersAndThreadsUse) {
  for (int round = 0; round < 5; ++round)
    for (const std::size_t capacity : {0, 1, 64})
      send_from_everywhere(capacity);
}

TEST(Bias, ASelectHoldsBiasedAndOtherChannels) {
  for (const unsigned other : {0U, 1U}) {
    runtime rt({.workers = 2});
    biased_channel<int> one, two;
    channel<int> three;
    int received = 0;
    fiber selects = rt.spawn(
        [&] {
          for (int i = 0; i < 300; ++i)
            select(on_receive(one, [&](std::optional<int> n) { received += *n; }),
                   on_receive(two, [&](std::optional<int> n) { received += *n; }),
                   on_receive(three, [&](std::optional<int> n) { received += *n; }));
        },
        {.pinned = 0});
    std::vector<fiber> senders;
    const auto send_to = [&](auto& to) {
      senders.push_back(rt.spawn(
          [&to] {
            for (int i = 0; i < 100; ++i)
              to.send(1);
          },
          {.pinned = other}));
    };
    send_to(one);
    send_to(two);
    send_to(three);
    for (fiber& each : senders)
      each.join();
    selects.join();
    EXPECT_EQ(received, 300);
  }
}

TEST(Bias, ASemaphoreThatWorkersAndThreadsUse) {
  for (int round = 0; round < 20; ++round) {
    runtime rt({.workers = 2});
    biased_semaphore permits(2);
    std::atomic<int> inside{0};
    const auto use = [&] {
      for (int n = 0; n < 300; ++n) {
        if (n % 3 != 0 || !permits.try_acquire())
          permits.acquire();
        EXPECT_LE(++inside, 2);
        --inside;
        permits.release();
      }
    };
    rt.spawn(use, {.pinned = 0}).join();  // now it is biased
    std::vector<fiber> fibers;
    for (unsigned i = 0; i < 4; ++i)
      fibers.push_back(rt.spawn(use, {.pinned = i % 2}));
    std::thread thread(use);
    for (fiber& each : fibers)
      each.join();
    thread.join();
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_FALSE(permits.try_acquire());
    permits.release(2);
  }
}

// Nothing there is atomic, so it has no effect.
TEST(Bias, OfALocalMutex) {
  local::runtime rt;
  rt.run([] {
    local::mutex guard(biased);
    local::condition_variable changed(biased);
    bool set = false;
    local::fiber other = local::spawn([&] {
      const std::lock_guard hold(guard);
      set = true;
      changed.notify_one();
    });
    std::unique_lock lock(guard);
    changed.wait(lock, [&] { return set; });
    other.join();
  });
}

// Each has a number of its own for its bias. There are not so many that one could be lost unnoticed.
TEST(Bias, ManyRuntimesOneAfterAnother) {
  mutex guard(biased);
  for (int i = 0; i < 300; ++i) {
    runtime rt({.workers = 1});
    rt.run([&] { const std::lock_guard hold(guard); });
  }
  runtime rt({.workers = 1});
  rt.run([] {
    const detail::worker* const here = detail::this_worker();
    EXPECT_NE(here->bias_number, 0);
    EXPECT_LT(here->bias_number, 300);
  });
}

}  // namespace
}  // namespace sennit
