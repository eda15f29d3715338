// Waits that end because a stop was requested: of every kind, of fibers of both runtimes and of OS threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/barrier.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/future.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/recursive_mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/shared_mutex.hpp"
#include "sennit/stop_guard.hpp"
#include "sennit/wait_group.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using detail::time_point;

struct wait_kind {
  std::string name;
  std::function<void()> wait;           // blocks for good
  std::function<void()> after = [] {};  // what was waited for is as if nobody had
};

// What fibers of a sennit::runtime wait for; all but the first also OS threads.
std::vector<wait_kind> shared_waits(time_point deadline) {
  std::vector<wait_kind> all;
  const auto kind = [&](
                        std::string name, auto wait, std::function<void()> after = [] {}) {
    all.push_back({std::move(name), wait, std::move(after)});
  };
  kind("park", [=] { this_fiber::park_until(deadline); });
  kind("sleep", [] { this_fiber::sleep_for(1h); });
  {
    auto m = std::make_shared<mutex>();
    m->lock();
    kind(
        "mutex", [=] { static_cast<void>(m->try_lock_until(deadline)); },
        [=] {
          m->unlock();
          EXPECT_TRUE(m->try_lock());
          m->unlock();
        });
  }
  {
    auto m = std::make_shared<recursive_mutex>();
    auto locked = std::make_shared<event>();
    auto done = std::make_shared<event>();
    std::thread([=] {
      m->lock();
      locked->set();
      done->wait();
      m->unlock();
    }).detach();
    locked->wait();
    kind(
        "recursive mutex", [=] { static_cast<void>(m->try_lock_until(deadline)); },
        [=] {
          done->set();
          m->lock();
          m->unlock();
        });
  }
  {
    auto m = std::make_shared<shared_mutex>();
    m->lock();
    kind(
        "shared mutex", [=] { static_cast<void>(m->try_lock_shared_until(deadline)); },
        [=] {
          m->unlock();
          EXPECT_TRUE(m->try_lock());
          m->unlock();
        });
  }
  {
    auto m = std::make_shared<mutex>();
    auto changed = std::make_shared<condition_variable>();
    kind("condition variable", [=] {
      std::unique_lock lock(*m);
      try {
        changed->wait_until(lock, deadline);
      } catch (const cancelled&) {
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_FALSE(m->try_lock());
        throw;
      }
    });
  }
  {
    auto permits = std::make_shared<counting_semaphore>(0);
    kind(
        "semaphore", [=] { permits->try_acquire_until(deadline); },
        [=] {
          permits->release();
          EXPECT_TRUE(permits->try_acquire());
        });
  }
  kind("event", [=, e = std::make_shared<event>()] { e->wait_until(deadline); });
  {
    auto group = std::make_shared<wait_group>(1);
    kind("wait group", [=] { group->wait_until(deadline); }, [=] { group->done(); });
  }
  {
    auto c = std::make_shared<channel<int>>();
    kind(
        "channel receive", [=] { c->receive_until(deadline); },
        [=] {
          int value = 1;
          EXPECT_FALSE(c->try_send(value));
        });
  }
  {
    auto c = std::make_shared<channel<std::string>>();
    kind("channel send", [=] { c->send_until("lost", deadline); }, [=] { EXPECT_FALSE(c->try_receive()); });
  }
  {
    auto p = std::make_shared<promise<int>>();
    auto f = std::make_shared<future<int>>(p->get_future());
    kind(
        "future", [=] { f->wait_until(deadline); },
        [=] {
          p->set_value(1);
          EXPECT_EQ(f->get(), 1);
        });
  }
  return all;
}

// Calls `wait` under a guard, again and again: a wait that is told must throw at once from then on.
void be_cancelled(const std::stop_token& token, const std::function<void()>& wait, std::atomic<bool>& begun) {
  const stop_guard guard(token);
  begun = true;
  EXPECT_THROW(wait(), cancelled);
  EXPECT_TRUE(stop_requested());
  EXPECT_THROW(wait(), cancelled);
}

class Stop : public testing::TestWithParam<unsigned> {
protected:
  runtime rt{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Workers, Stop, testing::Values(1u, 2u, 4u));

TEST_P(Stop, EndsEveryWait) {
  for (const time_point deadline : {detail::never, std::chrono::steady_clock::now() + 1h})
    for (const wait_kind& each : shared_waits(deadline)) {
      SCOPED_TRACE(each.name);
      std::stop_source stop;
      std::atomic<bool> begun = false;
      fiber waits = rt.spawn([&] { be_cancelled(stop.get_token(), each.wait, begun); });
      rt.run([&] {
        while (!begun)
          this_fiber::yield();
        this_fiber::yield();
        stop.request_stop();
      });
      waits.join();
      rt.run(each.after);
    }
}

TEST_P(Stop, ComesFromAnyThread) {
  for (const wait_kind& each : shared_waits(detail::never)) {
    SCOPED_TRACE(each.name);
    std::stop_source stop;
    std::atomic<bool> begun = false;
    fiber waits = rt.spawn([&] { be_cancelled(stop.get_token(), each.wait, begun); });
    while (!begun)
      std::this_thread::yield();
    stop.request_stop();
    waits.join();
    rt.run(each.after);
  }
}

TEST_P(Stop, EndsJoins) {
  event end;
  fiber joined = rt.spawn([&] { end.wait(); });
  std::stop_source stop;
  std::atomic<bool> begun = false;
  fiber joins = rt.spawn([&] { be_cancelled(stop.get_token(), [&] { joined.join(); }, begun); });
  while (!begun)
    std::this_thread::yield();
  stop.request_stop();
  joins.join();
  end.set();
  joined.join();
}

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
    const stop_guard third{std::stop_token()};  // that nobody can stop
    fiber stopper = spawn([&] { outer.request_stop(); });
    EXPECT_THROW(this_fiber::sleep_for(1h), cancelled);
    stopper.join();
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

// A value that is sent is received, or its sender was told that it is not: whoever is stopped when.
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

TEST(StopOfThreads, EndsEveryWait) {
  for (const time_point deadline : {detail::never, std::chrono::steady_clock::now() + 1h}) {
    std::vector<wait_kind> all = shared_waits(deadline);
    for (std::size_t i = 1; i < all.size(); ++i) {
      SCOPED_TRACE(all[i].name);
      std::stop_source stop;
      std::atomic<bool> begun = false;
      std::thread waits([&] { be_cancelled(stop.get_token(), all[i].wait, begun); });
      while (!begun)
        std::this_thread::yield();
      stop.request_stop();
      waits.join();
      all[i].after();
    }
  }
}

std::vector<wait_kind> local_waits() {
  std::vector<wait_kind> all;
  all.push_back({"park", [] { local::this_fiber::park(); }});
  all.push_back({"sleep", [] { local::this_fiber::sleep_for(1h); }});
  auto m = std::make_shared<local::mutex>();
  m->try_lock();
  all.push_back({"mutex", [=] { m->lock(); },
                 [=] {
                   m->unlock();
                   EXPECT_TRUE(m->try_lock());
                   m->unlock();
                 }});
  auto held = std::make_shared<local::mutex>();
  auto changed = std::make_shared<local::condition_variable>();
  all.push_back({"condition variable", [=] {
                   std::unique_lock lock(*held);
                   try {
                     changed->wait(lock);
                   } catch (const cancelled&) {
                     EXPECT_FALSE(held->try_lock());
                     throw;
                   }
                 }});
  auto values = std::make_shared<local::channel<std::string>>();
  all.push_back({"channel receive", [=] { values->receive(); }});
  all.push_back(
      {"channel send", [=] { values->send("lost"); }, [=] { EXPECT_FALSE(values->try_receive()); }});
  auto never_ends = std::make_shared<local::fiber>();
  auto end = std::make_shared<local::channel<int>>();
  all.push_back({"join",
                 [=] {
                   if (!never_ends->joinable())
                     *never_ends = local::spawn([=] { end->receive(); });
                   never_ends->join();
                 },
                 [=] {
                   end->close();
                   never_ends->join();
                 }});
  return all;
}

TEST(StopOfLocalFibers, EndsEveryWait) {
  for (const wait_kind& each : local_waits()) {
    SCOPED_TRACE(each.name);
    local::runtime rt;
    rt.run([&] {
      std::stop_source stop;
      std::atomic<bool> begun = false;
      local::fiber waits = local::spawn([&] { be_cancelled(stop.get_token(), each.wait, begun); });
      while (!begun)
        local::this_fiber::yield();
      stop.request_stop();
      waits.join();
      each.after();
    });
  }
}

TEST(StopOfLocalFibers, ComesFromAnyThread) {
  for (const wait_kind& each : local_waits()) {
    SCOPED_TRACE(each.name);
    local::runtime rt;
    std::stop_source stop;
    std::atomic<bool> begun = false;
    std::thread stopper([&] {
      while (!begun)
        std::this_thread::yield();
      stop.request_stop();
    });
    rt.run([&] {
      be_cancelled(stop.get_token(), each.wait, begun);
      each.after();
    });
    stopper.join();
  }
}

TEST(StopOfLocalFibers, ThatComesLateFindsNobody) {
  local::runtime rt;
  for (int round = 0; round < 200; ++round) {
    std::stop_source stop;
    std::thread stopper([&] { stop.request_stop(); });
    rt.run([&] {
      try {
        const stop_guard guard(stop.get_token());
        local::this_fiber::sleep_for(std::chrono::microseconds(round));
      } catch (const cancelled&) {
      }
      EXPECT_NO_THROW(local::this_fiber::sleep_for(1us));
    });
    stopper.join();
  }
}

// Who is told before it waits has not waited: it is ready, as its runtime's end must see.
TEST(StopOfLocalFibers, ThatIsKnownBeforeTheWaitLeavesItRunning) {
  for (const wait_kind& each : local_waits()) {
    SCOPED_TRACE(each.name);
    bool left = false;
    {
      local::runtime rt;
      rt.run([&] {
        local::spawn([&] {
          struct note {
            bool& at;
            ~note() { at = true; }
          } const on_leaving{left};
          {
            std::stop_source stop;
            stop.request_stop();
            const stop_guard guard(stop.get_token());
            EXPECT_THROW(each.wait(), cancelled);
          }
          for (;;)
            local::this_fiber::yield();
        }).detach();
        local::this_fiber::yield();
        each.after();
      });
    }
    EXPECT_TRUE(left);
  }
}

TEST(StopOfLocalFibers, InAParkIsOverForWhoUnparks) {
  local::runtime rt;
  rt.run([&] {
    local::channel<int> values;
    local::fiber waits = local::spawn([&] {
      std::stop_source stop;
      stop.request_stop();
      {
        const stop_guard guard(stop.get_token());
        EXPECT_THROW(local::this_fiber::park(), cancelled);
      }
      EXPECT_EQ(values.receive(), 7);
      local::this_fiber::park();  // was unparked meanwhile
    });
    local::this_fiber::yield();
    waits.unpark();
    local::this_fiber::yield();
    values.send(7);
    waits.join();
  });
}

TEST(StopOfLocalFibers, ShieldsHideGuardsAndDestructorsAreNotReached) {
  local::runtime rt;
  bool waited = false;
  struct slow {
    bool& at;
    ~slow() {
      local::this_fiber::sleep_for(1ms);
      at = true;
    }
  };
  rt.run([&] {
    std::stop_source stop;
    local::fiber leaves = local::spawn([&] {
      const stop_guard guard(stop.get_token());
      const slow on_leaving{waited};
      {
        const stop_shield shield;
        stop.request_stop();
        EXPECT_NO_THROW(local::this_fiber::sleep_for(1ms));
      }
      local::this_fiber::park();
      ADD_FAILURE() << "went on";
    });
    EXPECT_NO_THROW(leaves.join());
  });
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace sennit
