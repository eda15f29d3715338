// The end of a runtime while its fibers wait for each other.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/shared_mutex.hpp"
#include "support/counted.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// A fiber that is ready when its runtime ends is stopped at its next wait, before it is in any list: it still
// releases the locks that it would release in that wait.
TEST(SyncEnd, WhoIsToldAtAWaitLetsItsLocksGo) {
  for (int kind = 0; kind < 4; ++kind) {
    mutex guard;
    condition_variable changed;
    channel<int> values;
    event happened;
    std::atomic<bool> waits{false};
    std::atomic<bool> left{false};
    {
      auto rt = std::make_unique<runtime>(runtime_options{.workers = 1});
      fiber waiting = rt->spawn([&] {
        struct at_end {
          std::atomic<bool>& of;
          ~at_end() { of = true; }
        } note{left};
        waits = true;
        this_fiber::park();
        if (kind == 0) {
          std::unique_lock hold(guard);
          changed.wait(hold);
        } else if (kind == 1) {
          values.receive();
        } else if (kind == 2) {
          values.send(1);
        } else {
          happened.wait();
        }
        ADD_FAILURE() << "it was not told";
      });
      while (!waits)
        std::this_thread::yield();
      std::atomic<bool> ending{false};
      std::atomic<bool> busy{false};
      rt->post([&] {
        busy = true;
        while (!ending)
          std::this_thread::yield();
      });
      while (!busy)
        std::this_thread::yield();
      waiting.unpark();  // it is ready, and its worker is busy until the runtime ends
      waiting.detach();
      std::thread ends([&] { rt.reset(); });
      std::this_thread::sleep_for(20ms);
      ending = true;
      ends.join();
    }
    EXPECT_TRUE(left) << kind;
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
    EXPECT_FALSE(values.try_receive());
    EXPECT_EQ(values.size(), 0u);
  }
}

TEST(SyncEnd, ARuntimesEndTakesWaitersOut) {
  for (unsigned workers : {1u, 2u}) {
    std::atomic<int> alive{0};
    mutex guard;
    condition_variable changed;
    channel<int> values;
    event happened;
    counting_semaphore permits(0);
    {
      runtime rt({.workers = workers});
      guard.lock();
      const auto post = [&](auto function) {
        rt.post([&alive, function] {
          support::counted here(alive);
          function();
        });
      };
      post([&] { guard.lock(); });
      post([&] { static_cast<void>(guard.try_lock_for(1h)); });
      post([&] {
        mutex own;
        std::unique_lock hold(own);
        changed.wait(hold);
      });
      post([&] { values.receive(); });
      post([&] { values.send(1); });
      post([&] { values.receive_until(steady::now() + 1h); });
      post([&] { happened.wait(); });
      post([&] { permits.acquire(); });
      while (alive < 6)  // two of those at the channel meet
        std::this_thread::yield();
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(alive, 0);
    guard.unlock();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
    EXPECT_FALSE(values.try_receive());
  }
}

// An OS thread that waits behind writers gets in when these leave.
TEST(SyncEnd, WritersThatLeaveLetReadersIn) {
  for (unsigned workers : {1u, 2u}) {
    shared_mutex guard;
    guard.lock_shared();
    std::atomic<bool> got{false};
    std::thread reader;
    {
      runtime rt({.workers = workers});
      rt.post([&] { guard.lock(); });
      rt.post([&] { static_cast<void>(guard.try_lock_for(1h)); });
      while (guard.try_lock_shared())
        guard.unlock_shared();
      reader = std::thread([&] {
        const std::shared_lock reading(guard);
        got = true;
      });
      std::this_thread::sleep_for(5ms);
      EXPECT_FALSE(got);
    }
    reader.join();
    guard.unlock_shared();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
  }
}

}  // namespace
}  // namespace sennit
