// Upcalls: events that blocked fibers handle.
#include "sennit/upcall_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/local/upcall_pool.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::until_stackless;

template <class Kind>
class Upcalls : public sennit::kind_test<Kind> {
public:
  using events = std::conditional_t<std::is_same_v<Kind, sennit::local_kind>, sennit::local::upcall_pool,
                                    sennit::upcall_pool>;
};

KIND_TEST(Upcalls, CallHandlersWithTheirState) {
  this->run([] {
    std::atomic<int> sum = 0;
    {
      typename Upcalls<Kind>::events pool;
      for (int i = 1; i <= 100; ++i)
        EXPECT_TRUE(pool.post([&sum, i] { sum += i; }));
    }
    EXPECT_EQ(sum, 5050);
  });
}

KIND_TEST(Upcalls, OfOneFiberComeInOrder) {
  this->run([] {
    std::vector<int> seen;
    {
      typename Upcalls<Kind>::events pool({.fibers = 1});
      for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(pool.post([&seen, i] { seen.push_back(i); }));
    }
    EXPECT_EQ(seen, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  });
}

// No fiber begins or ends, and none has a stack while it has nothing to do.
KIND_TEST(Upcalls, AreOfTheSameBlockedFibers) {
  this->run([] {
    typename Upcalls<Kind>::events pool({.fibers = 3});
    until_stackless<Kind>(3);
    std::atomic<int> called = 0;
    for (int round = 1; round <= 50; ++round) {
      EXPECT_TRUE(pool.post([&called] { ++called; }));
      while (called != round)
        Kind::yield();
      until_stackless<Kind>(3);
    }
  });
}

KIND_TEST(Upcalls, WaitWhileAllFibersAreBusyButNotWithoutEnd) {
  this->run([] {
    std::atomic<int> called = 0;
    typename Kind::event go_on;
    typename Upcalls<Kind>::events pool({.fibers = 2, .events = 3});
    until_stackless<Kind>(2);
    const auto handler = [&called, &go_on] {
      ++called;
      go_on.wait();
    };
    for (int i = 0; i < 5; ++i)
      EXPECT_TRUE(pool.post(handler)) << i;
    EXPECT_FALSE(pool.post(handler));
    while (called != 2)
      Kind::yield();
    EXPECT_FALSE(pool.post(handler));
    go_on.set();
    while (called != 5)
      Kind::yield();
    EXPECT_TRUE(pool.post(handler));
    pool.close();
    EXPECT_FALSE(pool.post(handler));
    while (called != 6)
      Kind::yield();
  });
}

KIND_TEST(Upcalls, MayWaitWithoutAStackAndComeBackToThePool) {
  this->run([] {
    using pool_type = typename Upcalls<Kind>::events;
    std::atomic<int> called = 0;
    {
      pool_type pool({.fibers = 1});
      for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(pool.post([&called](pool_type& of) {
          return become(sennit::this_fiber::sleeping_for(1us), [&of, &called] {
            ++called;
            return of.idle();
          });
        }));
    }
    EXPECT_EQ(called, 10);
  });
}

KIND_TEST(Upcalls, MayPost) {
  this->run([] {
    using pool_type = typename Upcalls<Kind>::events;
    struct steps {
      std::atomic<int> left = 100;
      static void take(pool_type& of, steps* me) {
        if (--me->left > 0) {
          EXPECT_TRUE(of.post([me](pool_type& again) { take(again, me); }));
        }
      }
    } all;
    pool_type pool({.fibers = 2});
    EXPECT_TRUE(pool.post([me = &all](pool_type& of) { steps::take(of, me); }));
    while (all.left > 0)
      Kind::yield();
  });
}

KIND_TEST(Upcalls, EndWithTheirRuntimeWhileEventsWait) {
  std::atomic<int> called = 0;
  this->run([&] {
    Kind::spawn([&] {
      typename Upcalls<Kind>::events pool({.fibers = 2});
      typename Kind::event never_set;
      for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(pool.post([&called, &never_set] {
          ++called;
          never_set.wait();
        }));
      never_set.wait();
    }).detach();
    while (called != 2)
      Kind::yield();
  });
}

KIND_TEST(Upcalls, EndWithTheirRuntimeWhileIdle) {
  this->run([&] {
    Kind::spawn([&] {
      typename Upcalls<Kind>::events pool({.fibers = 2});
      typename Kind::event never_set;
      never_set.wait();
    }).detach();
    until_stackless<Kind>(2);
  });
}

TEST(UpcallPool, TakesEventsOfAnyThread) {
  constexpr int each = 5'000;
  constexpr int threads = 4;
  sennit::runtime runtime({.workers = 2});
  std::atomic<int> handled = 0;
  runtime.run([&] {
    std::unique_ptr<sennit::upcall_pool> pool =
        std::make_unique<sennit::upcall_pool>(sennit::upcall_options{.fibers = 3, .events = 16});
    std::vector<std::thread> all;
    std::atomic<int> done = 0;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&] {
        for (int n = 0; n < each; ++n)
          while (!pool->post([&handled] { ++handled; }))
            std::this_thread::yield();
        ++done;
      });
    while (done != threads)
      sennit::this_fiber::sleep_for(1ms);
    for (std::thread& thread : all)
      thread.join();
    pool.reset();
    EXPECT_EQ(handled, threads * each);
  });
}

// A fiber of another runtime, and one of a local runtime, are threads like others.
TEST(UpcallPool, TakesEventsOfOtherRuntimes) {
  sennit::runtime runtime({.workers = 1});
  runtime.run([] {
    std::atomic<int> handled = 0;
    sennit::upcall_pool pool;
    std::thread local(
        [&] { sennit::local::runtime().run([&] { EXPECT_TRUE(pool.post([&handled] { ++handled; })); }); });
    std::thread other([&] {
      sennit::runtime({.workers = 1}).run([&] { EXPECT_TRUE(pool.post([&handled] { ++handled; })); });
    });
    while (handled != 2)
      sennit::this_fiber::sleep_for(1ms);
    local.join();
    other.join();
  });
}

}  // namespace
