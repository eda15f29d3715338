// Semaphores, events, wait groups, barriers and once: of fibers on several workers and of OS threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

#include "sennit/barrier.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/once.hpp"
#include "sennit/runtime.hpp"
#include "sennit/wait_group.hpp"
#include "sync_fixture.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

class ParallelSync : public sync_test {};
INSTANTIATE_TEST_SUITE_P(Workers, ParallelSync, every_worker_count);

TEST_P(ParallelSync, SemaphoresCount) {
  counting_semaphore permits(3);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  run_all(
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
          if (i % 8 == 0 && detail::this_parallel() != nullptr)
            this_fiber::yield();
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

TEST_P(ParallelSync, EventsAreForAll) {
  event happened;
  std::atomic<int> seen{0};
  rt.run([&] {
    EXPECT_FALSE(happened.wait_for(1ms));
    std::vector<fiber> all;
    for (int i = 0; i < 30; ++i)
      all.push_back(spawn([&] {
        happened.wait();
        ++seen;
      }));
    happened.set();
    for (fiber& each : all)
      each.join();
    happened.wait();
    happened.reset();
    EXPECT_FALSE(happened.is_set());
  });
  EXPECT_EQ(seen, 30);
}

// Who waits destroys the object at once.
TEST_P(ParallelSync, WhoWaitsMayDestroyTheObject) {
  rt.run([] {
    for (int i = 0; i < 300; ++i) {
      auto pending = std::make_unique<wait_group>(2);
      auto happened = std::make_unique<event>();
      wait_group* const group = pending.get();
      event* const set = happened.get();
      spawn([group] { group->done(); }).detach();
      spawn([group, set] {
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

TEST_P(ParallelSync, LatchesAreArrivedAt) {
  constexpr int parties = 6;
  latch all(parties);
  std::atomic<int> arrived{0};
  run_all(
      parties - 1,
      [&](int) {
        ++arrived;
        all.arrive_and_wait();
        EXPECT_EQ(arrived, parties);
      },
      1);
  EXPECT_TRUE(all.try_wait());
}

TEST_P(ParallelSync, BarriersKeepInStep) {
  constexpr int parties = 6;
  int completions = 0;
  std::atomic<int> step[parties] = {};
  barrier together(parties, [&]() noexcept { ++completions; });
  run_all(
      parties - 1,
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

TEST_P(ParallelSync, OnceMeansOnce) {
  once_flag flag;
  int done = 0;
  std::atomic<int> failed{0};
  run_all(
      20,
      [&](int) {
        try {
          call_once(flag, [&] {
            if (failed == 0) {
              if (detail::this_parallel() != nullptr)
                this_fiber::sleep_for(1ms);
              ++failed;
              throw std::runtime_error("first");
            }
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
