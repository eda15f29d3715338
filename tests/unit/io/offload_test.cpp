// Blocking functions on other threads: their results, their waiters, and the case that no waiter is left.
#include "sennit/offload.hpp"
#include "sennit/detail/io/offload_until.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pool_support.hpp"
#include "support/kinds.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using io_test::door;
using io_test::pool_of;

template <class Kind>
class Offload : public kind_test<Kind> {};

KIND_TEST(Offload, RunsElsewhereAndReturns) {
  this->run([] {
    const auto here = std::this_thread::get_id();
    EXPECT_NE(offload([] { return std::this_thread::get_id(); }), here);
    EXPECT_EQ(offload([] { return std::string("text"); }), "text");
    EXPECT_EQ(*offload([] { return std::make_unique<int>(7); }), 7);
    bool called = false;
    offload([&] { called = true; });
    EXPECT_TRUE(called);
    EXPECT_EQ(std::this_thread::get_id(), here);
  });
}

KIND_TEST(Offload, ThrowsWhatTheFunctionThrew) {
  this->run([] {
    EXPECT_THROW(offload([]() -> int { throw std::out_of_range("no"); }), std::out_of_range);
    EXPECT_THROW(offload([] { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_EQ(offload([] { return 1; }), 1);
  });
}

TEST(Offload, OutsideOfAFiberIsAnOrdinaryCall) {
  EXPECT_EQ(offload([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
}

KIND_TEST(Offload, OnlyTheCallingFiberWaits) {
  this->run([] {
    door wait_here;
    auto caller = Kind::spawn([&] { offload([&] { wait_here.pass(); }); });
    Kind::sleep_for(1ms);  // others run, and time passes for them
    wait_here.open();
    caller.join();
  });
}

KIND_TEST(Offload, ManyAtOnce) {
  this->run([] {
    std::vector<typename Kind::fiber> fibers;
    std::atomic<int> sum{0};
    for (int i = 0; i < 500; ++i)
      fibers.push_back(Kind::spawn([i, &sum] { sum += offload([i] { return i; }); }));
    for (auto& each : fibers)
      each.join();
    EXPECT_EQ(sum, 499 * 500 / 2);
  });
}

KIND_TEST(Offload, WhenAllThreadsAreBusyCallsWaitInTheirOrder) {
  const pool_of few(1);
  this->run([] {
    door wait_here;
    std::vector<int> order;
    std::vector<typename Kind::fiber> fibers;
    fibers.push_back(start<Kind>([&] { offload([&] { wait_here.pass(); }); }));
    for (int i = 0; i < 20; ++i)
      fibers.push_back(start<Kind>([i, &order] { offload([i, &order] { order.push_back(i); }); }));
    wait_here.open();
    for (auto& each : fibers)
      each.join();
    EXPECT_EQ(order.size(), 20u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  });
}

// The runtime ends while one call runs and others wait for a thread.
KIND_TEST(Offload, TheEndOfARuntimeWaitsForWhatRunsAndWithdrawsTheRest) {
  const pool_of few(1);
  std::atomic<bool> running{false}, finished{false};
  std::atomic<int> later{0}, unwound{0}, withdrawn{0};
  constexpr int too_late = 10;
  struct count {
    std::atomic<int>& of;
    ~count() { ++of; }
  };
  door wait_here;
  {
    Kind rt;
    rt.run([&] {
      start<Kind>([&] {
        const struct opener {
          ~opener() {
            while (withdrawn != too_late)
              Kind::yield();  // the others are stopped, too
            wait_here.open();
          }
          std::atomic<int>& withdrawn;
          door& wait_here;
        } when_the_runtime_ends{withdrawn, wait_here};
        typename Kind::event().wait();
      }).detach();
      start<Kind>([&] {
        std::string used(100, 'x');  // on the fiber's stack: the call must not outlive it
        const count counted{unwound};
        offload([&] {
          running = true;
          running.notify_all();
          wait_here.pass();
          used.assign(100, 'y');
          finished = true;
        });
        ADD_FAILURE() << "the fiber went on";
      }).detach();
      for (int i = 0; i < too_late; ++i)
        start<Kind>([&] {
          const count counted{withdrawn};
          offload([&] { ++later; });
        }).detach();
      while (!running)
        Kind::yield();
    });
  }
  EXPECT_TRUE(finished);
  EXPECT_EQ(later, 0);
  EXPECT_EQ(unwound, 1);
}

struct slow_job : detail::offload_job {
  slow_job(door& d, std::atomic<int>& counter) : wait_here(d), gone(counter) {}
  ~slow_job() override { ++gone; }
  void call() noexcept override { wait_here.pass(); }
  door& wait_here;
  std::atomic<int>& gone;
};

// On a busy machine the job may not have begun by then, and is withdrawn: with more time it does.
KIND_TEST(Offload, AJobThatIsLateIsLeftToThePool) {
  door wait_here;
  std::atomic<int> gone{0};
  int withdrawn = 0;
  {
    Kind rt;
    rt.run([&] {
      for (auto time = 10ms;; time *= 2) {
        std::unique_ptr<detail::offload_job> job = std::make_unique<slow_job>(wait_here, gone);
        EXPECT_FALSE(detail::offload_run_until(job, std::chrono::steady_clock::now() + time));
        if (job == nullptr)
          break;
        ++withdrawn;
      }
    });
  }
  EXPECT_EQ(gone, withdrawn);
  wait_here.open();
  while (gone == withdrawn)
    std::this_thread::yield();
}

KIND_TEST(Offload, AJobThatWaitsForAThreadIsWithdrawnAtItsDeadline) {
  const pool_of few(1);
  door wait_here;
  std::atomic<int> gone{0};
  this->run([&] {
    auto busy = start<Kind>([&] { offload([&] { wait_here.pass(); }); });
    std::unique_ptr<detail::offload_job> job = std::make_unique<slow_job>(wait_here, gone);
    EXPECT_FALSE(detail::offload_run_until(job, std::chrono::steady_clock::now() + 5ms));
    job.reset();
    EXPECT_EQ(gone, 1);
    wait_here.open();
    busy.join();
  });
}

KIND_TEST(Offload, RuntimesComeAndGoWhileCallsReturn) {
  for (int i = 0; i < 200; ++i) {
    Kind rt;
    rt.run([] {
      auto one = Kind::spawn([] { offload([] {}); });
      offload([] {});
      one.join();
    });
  }
}

}  // namespace
