// Requested stops: guards and shields, the waits that each stop ends, and races.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/event.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/stop_guard.hpp"
#include "stop_support.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

class Stop : public testing::TestWithParam<unsigned> {
protected:
  runtime rt{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Workers, Stop, testing::Values(1u, 2u, 4u));

TEST_P(Stop, ThatWasRequestedBeforeIsSeenByTheFirstWait) {
  std::stop_source stop;
  stop.request_stop();
  rt.run([&] {
    mutex free;
    const stop_guard guard(stop.get_token());
    EXPECT_TRUE(stop_requested());
    EXPECT_NO_THROW(free.lock());  // it need not wait
    EXPECT_THROW(this_fiber::sleep_for(1h), cancelled);
    EXPECT_THROW(free.lock(), cancelled);
    free.unlock();
  });
}

TEST_P(Stop, EndsAFiberQuietly) {
  std::stop_source stop;
  bool unwound = false;
  struct note {
    bool& at;
    ~note() { at = true; }
  };
  fiber leaves = rt.spawn([&] {
    const note on_leaving{unwound};
    const stop_guard guard(stop.get_token());
    this_fiber::park();
    ADD_FAILURE() << "went on";
  });
  rt.post([&] { stop.request_stop(); });
  EXPECT_NO_THROW(leaves.join());
  EXPECT_TRUE(unwound);
}

TEST_P(Stop, GuardsAreNestedAndAllCount) {
  rt.run([&] {
    std::stop_source outer, inner;
    const stop_guard first(outer.get_token());
    {
      const stop_guard second(inner.get_token());
      inner.request_stop();
      EXPECT_THROW(this_fiber::sleep_for(1h), cancelled);
    }
    EXPECT_FALSE(stop_requested());
    EXPECT_NO_THROW(this_fiber::sleep_for(1us));
    const stop_guard third{std::stop_token()};  // without a stop source
    fiber stopper = spawn([&] { outer.request_stop(); });
    EXPECT_THROW(this_fiber::sleep_for(1h), cancelled);
    stopper.join();
  });
}

// Not the guards outside of the shield, or of an exception's way, either before the wait or after it.
TEST_P(Stop, WaitsSeeTheGuardsWithinAShieldOrADestructor) {
  std::stop_source inner;
  std::stop_source outer;
  rt.run([&] {
    const stop_guard outside(outer.get_token());
    {
      const stop_shield shield;
      const stop_guard within(inner.get_token());
      this_fiber::sleep_for(1us);
      rt.post([&] { inner.request_stop(); });
      EXPECT_THROW(this_fiber::sleep_for(1h), cancelled);
    }
    struct waits {
      std::stop_token token;
      ~waits() {
        const stop_guard within(token);
        this_fiber::sleep_for(1us);
      }
    };
    EXPECT_THROW(
        {
          const waits on_the_way{outer.get_token()};
          throw failure();
        },
        failure);
  });
}

TEST_P(Stop, ShieldsHideGuards) {
  rt.run([&] {
    std::stop_source stop;
    const stop_guard guard(stop.get_token());
    stop.request_stop();
    {
      const stop_shield shield;
      EXPECT_FALSE(stop_requested());
      EXPECT_NO_THROW(this_fiber::sleep_for(1ms));
      std::stop_source other;
      const stop_guard inside(other.get_token());
      other.request_stop();
      EXPECT_THROW(this_fiber::sleep_for(1h), cancelled);
    }
    EXPECT_THROW(this_fiber::sleep_for(1h), cancelled);
  });
}

TEST_P(Stop, DoesNotReachDestructorsThatRunBecauseOfIt) {
  bool waited = false;
  struct slow {
    bool& at;
    ~slow() {
      this_fiber::sleep_for(1ms);
      std::stop_source other;
      const stop_guard inside(other.get_token());
      other.request_stop();
      EXPECT_TRUE(stop_requested());  // a guard that was made here is seen here
      at = true;
    }
  };
  std::stop_source stop;
  stop.request_stop();
  rt.run([&] {
    const stop_guard guard(stop.get_token());
    const slow on_leaving{waited};
    this_fiber::sleep_for(1h);
  });
  EXPECT_TRUE(waited);
}

TEST_P(Stop, OfAGuardThatIsGoneDoesNothing) {
  std::stop_source stop;
  rt.run([&] {
    {
      const stop_guard gone(stop.get_token());
    }
    stop.request_stop();
    EXPECT_FALSE(stop_requested());
    EXPECT_NO_THROW(this_fiber::sleep_for(1us));
  });
}

TEST_P(Stop, BeforeTheRuntimesEnd) {
  std::stop_source stop;
  std::atomic<int> left = 0;
  {
    channel<int> nothing;
    runtime short_lived({.workers = GetParam()});
    for (int i = 0; i < 20; ++i)
      short_lived.post([&] {
        const stop_guard guard(stop.get_token());
        try {
          nothing.receive();
        } catch (...) {
          ++left;
          throw;
        }
      });
    short_lived.run([] { this_fiber::yield(); });
    const std::jthread stopper([&] { stop.request_stop(); });
  }
  EXPECT_EQ(left, 20);
}

// It was woken, and waits for its lock, when the stop comes: it gets the lock first.
TEST_P(Stop, OfAConditionVariableThatWaitsForItsLock) {
  mutex m;
  condition_variable changed;
  std::stop_source stop;
  std::atomic<bool> waits = false;
  fiber waiter = rt.spawn([&] {
    const stop_guard guard(stop.get_token());
    std::unique_lock lock(m);
    waits = true;
    EXPECT_NO_THROW(changed.wait(lock));
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(m.try_lock());
    EXPECT_TRUE(stop_requested());
  });
  while (!waits)
    std::this_thread::yield();
  m.lock();
  changed.notify_one();
  std::this_thread::sleep_for(2ms);
  stop.request_stop();
  m.unlock();
  waiter.join();
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

// A sent value is received, or its send reports that it is not, whenever a fiber is stopped.
TEST_P(Stop, AgainstWakesLosesNothing) {
  constexpr int senders = 4;
  constexpr int rounds = 300;
  channel<int> c;
  std::atomic<int> sent = 0;
  std::atomic<int> received = 0;
  std::atomic<int> stopped = 0;
  rt.run([&] {
    std::vector<fiber> all;
    for (int i = 0; i < senders; ++i) {
      all.push_back(spawn([&] {
        for (int round = 0; round < rounds; ++round) {
          std::stop_source stop;
          fiber sender = spawn([&] {
            const stop_guard guard(stop.get_token());
            sent += c.send(round) ? 1 : 0;
          });
          if (round % 2 == 0)
            this_fiber::yield();
          stop.request_stop();
          sender.join();
        }
      }));
      all.push_back(spawn([&] {
        for (int round = 0; round < rounds; ++round) {
          std::stop_source stop;
          fiber receiver = spawn([&] {
            const stop_guard guard(stop.get_token());
            try {
              received += c.receive() ? 1 : 0;
            } catch (const cancelled&) {
              ++stopped;
            }
          });
          if (round % 3 != 0)
            this_fiber::yield();
          stop.request_stop();
          receiver.join();
        }
      }));
    }
    for (fiber& each : all)
      each.join();
  });
  EXPECT_EQ(sent, received);
  EXPECT_EQ(received + stopped, senders * rounds);
}

// What run() has started refers to the caller's variables.
TEST_P(Stop, DoesNotEndRunsBeforeTheirFunctions) {
  std::stop_source stop;
  const stop_guard guard(stop.get_token());
  bool ended = false;
  EXPECT_EQ(rt.run([&] {
    stop.request_stop();
    this_fiber::sleep_for(5ms);
    ended = true;
    return 42;
  }),
            42);
  EXPECT_TRUE(ended);
}

TEST_P(Stop, OfAFunctionWithAResultComesOutOfRun) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(rt.run([&] {
    const stop_guard guard(stop.get_token());
    this_fiber::sleep_for(1h);
    return std::string("result");
  }),
               cancelled);
  local::runtime on_this_thread;
  EXPECT_THROW(on_this_thread.run([&] {
    const stop_guard guard(stop.get_token());
    local::this_fiber::sleep_for(1h);
    return std::string("result");
  }),
               cancelled);
}

}  // namespace
}  // namespace sennit
