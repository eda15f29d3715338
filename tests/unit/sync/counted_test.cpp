// Semaphores, events, wait groups, barriers and once, of both kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "sennit/latch.hpp"
#include "sennit/local/latch.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

template <class Kind>
class Counted : public kind_test<Kind> {};

KIND_TEST(Counted, SemaphoresCount) {
  typename Kind::counting_semaphore permits(3);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  this->run_all(
      20,
      [&](int me) {
        for (int i = 0; i < 100; ++i) {
          if (me % 3 == 0 && !permits.try_acquire_for(10us))
            continue;
          if (me % 3 != 0)
            permits.acquire();
          const int now = ++inside;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          if (i % 8 == 0)
            Kind::yield();
          --inside;
          permits.release();
        }
      },
      2);
  EXPECT_LE(most, 3);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(permits.try_acquire());
  EXPECT_FALSE(permits.try_acquire());
  permits.release(3);
}

KIND_TEST(Counted, SemaphoresServeInOrder) {
  typename Kind::counting_semaphore permits(0);
  std::vector<int> order;
  this->run([&] {
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 6; ++i)
      all.push_back(start<Kind>([&, i] {
        if (i == 2) {
          EXPECT_FALSE(permits.try_acquire_until(steady::time_point::min()));
        } else {
          permits.acquire();
          order.push_back(i);
        }
      }));
    all[2].join();
    for (std::size_t served = 1; served <= 5; ++served) {
      permits.release();
      EXPECT_FALSE(permits.try_acquire()) << "it is handed over";
      while (order.size() < served)
        Kind::yield();
    }
    permits.release();
    this->join(all);
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_FALSE(permits.try_acquire());
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 3, 4, 5}));
}

KIND_TEST(Counted, EventsAreForAll) {
  typename Kind::event happened;
  std::atomic<int> seen{0};
  this->run([&] {
    EXPECT_FALSE(happened.wait_for(1ms));
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 30; ++i)
      all.push_back(Kind::spawn([&, i] {
        if (i % 2 == 0)
          happened.wait();
        else
          EXPECT_TRUE(happened.wait_for(10min));
        ++seen;
      }));
    Kind::yield();
    happened.set();
    this->join(all);
    happened.wait();
    happened.reset();
    EXPECT_FALSE(happened.is_set());
    EXPECT_FALSE(happened.wait_until(steady::time_point::min()));
  });
  EXPECT_EQ(seen, 30);
}

KIND_TEST(Counted, EventsWakeInOrder) {
  typename Kind::event happened;
  std::vector<int> order;
  this->run([&] {
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 5; ++i)
      all.push_back(start<Kind>([&, i] {
        happened.wait();
        order.push_back(i);
      }));
    happened.set();
    this->join(all);
  });
  // They are made ready in order. Which of the ready runs first is the policy's, and that of thieves.
  if (Kind::param.policy != run_policy::fifo || Kind::param.workers > 1)
    std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

KIND_TEST(Counted, WaitGroupsWaitForAll) {
  typename Kind::wait_group pending;
  std::atomic<int> done{0};
  EXPECT_TRUE(pending.try_wait());
  pending.wait();
  this->run([&] {
    for (int round = 1; round <= 3; ++round) {
      pending.add(20);
      EXPECT_EQ(pending.pending(), 20u);
      EXPECT_FALSE(pending.wait_for(100us));
      std::vector<typename Kind::fiber> all;
      for (int i = 0; i < 20; ++i)
        all.push_back(Kind::spawn([&] {
          Kind::yield();
          ++done;
          pending.done();
        }));
      if (round % 2 == 0)
        EXPECT_TRUE(pending.wait_for(10min));
      else
        pending.wait();
      EXPECT_EQ(done, 20 * round);
      this->join(all);
    }
  });
}

// The waiter destroys the object at once.
KIND_TEST(Counted, WhoWaitsMayDestroyTheObject) {
  this->run([] {
    for (int i = 0; i < 300; ++i) {
      auto pending = std::make_unique<typename Kind::wait_group>(2);
      auto happened = std::make_unique<typename Kind::event>();
      auto* const group = pending.get();
      auto* const set = happened.get();
      Kind::spawn([group] { group->done(); }).detach();
      Kind::spawn([group, set] {
        group->done();
        set->set();
      }).detach();
      pending->wait();
      pending.reset();
      happened->wait();
      happened.reset();
    }
  });
}

static_assert(std::is_same_v<sennit::latch, sennit::wait_group>);
static_assert(std::is_same_v<sennit::local::latch, sennit::local::wait_group>);

KIND_TEST(Counted, LatchesAreArrivedAt) {
  constexpr int fibers = 5;
  const int parties = fibers + Kind::threads(1);
  typename Kind::wait_group all(parties);
  std::atomic<int> arrived{0};
  this->run_all(
      fibers,
      [&](int) {
        ++arrived;
        all.arrive_and_wait();
        EXPECT_EQ(arrived, parties);
      },
      1);
  EXPECT_TRUE(all.try_wait());
}

KIND_TEST(Counted, BarriersKeepInStep) {
  constexpr int fibers = 5;
  const int parties = fibers + Kind::threads(1);
  int completions = 0;
  std::vector<std::atomic<int>> step(parties);
  auto together = Kind::barrier_with(parties, [&]() noexcept { ++completions; });
  this->run_all(
      fibers,
      [&](int me) {
        for (int i = 1; i <= 100; ++i) {
          step[me] = i;
          together.arrive_and_wait();
          for (const auto& other : step)
            EXPECT_GE(other, i);
          together.arrive_and_wait();
        }
      },
      1);
  EXPECT_EQ(completions, 200);
}

KIND_TEST(Counted, BarriersMayBeLeft) {
  typename Kind::barrier together(3);
  std::atomic<int> passed{0};
  this->run([&] {
    auto token = together.arrive(2);
    auto drops = start<Kind>([&] { together.arrive_and_drop(); });
    together.wait(std::move(token));
    drops.join();
    auto waits = start<Kind>([&] {
      together.arrive_and_wait();
      ++passed;
    });
    EXPECT_EQ(passed, 0);
    together.arrive_and_wait();
    waits.join();
    EXPECT_EQ(passed, 1);
  });
}

KIND_TEST(Counted, OnceMeansOnce) {
  typename Kind::once_flag flag;
  int done = 0;
  std::atomic<int> failed{0};
  this->run_all(
      20,
      [&](int) {
        try {
          call_once(flag, [&] {
            if (failed == 0) {
              Kind::sleep_for(1ms);
              ++failed;
              throw std::runtime_error("first");
            }
            Kind::yield();
            ++done;
          });
        } catch (const std::runtime_error&) {
        }
        if (failed.load() == 1)
          call_once(flag, [&] { ++done; });
        EXPECT_EQ(done, 1);
      },
      2);
}

}  // namespace
}  // namespace sennit
