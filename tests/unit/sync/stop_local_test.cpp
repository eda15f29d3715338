// Waits of local runtimes that end because a stop was requested, by fibers of theirs and by other threads.
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sennit/local/barrier.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/event.hpp"
#include "sennit/local/future.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/once.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/local/shared_mutex.hpp"
#include "sennit/local/wait_group.hpp"
#include "stop_support.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

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
  auto happened = std::make_shared<local::event>();
  all.push_back({"event", [=] { happened->wait(); }});
  auto permits = std::make_shared<local::counting_semaphore>(0);
  all.push_back({"semaphore", [=] { permits->acquire(); },
                 [=] {
                   permits->release();
                   EXPECT_TRUE(permits->try_acquire());
                 }});
  auto book = std::make_shared<local::shared_mutex>();
  book->lock();
  all.push_back({"shared mutex, to read", [=] { book->lock_shared(); },
                 [=] {
                   book->unlock();
                   EXPECT_TRUE(book->try_lock());
                   book->unlock();
                 }});
  auto read = std::make_shared<local::shared_mutex>();
  read->lock_shared();
  all.push_back({"shared mutex, to write", [=] { read->lock(); },
                 [=] {
                   EXPECT_TRUE(read->try_lock_shared());  // no writer keeps readers out
                   read->unlock_shared();
                   read->unlock_shared();
                   EXPECT_TRUE(read->try_lock());
                   read->unlock();
                 }});
  auto group = std::make_shared<local::wait_group>(1);
  all.push_back({"wait group", [=] { group->wait(); }, [=] { group->done(); }});
  auto others = std::make_shared<local::barrier<>>(100);
  all.push_back({"barrier", [=] { others->arrive_and_wait(); }});
  auto promised = std::make_shared<local::promise<int>>();
  auto result = std::make_shared<local::future<int>>(promised->get_future());
  all.push_back({"future", [=] { result->wait(); },
                 [=] {
                   promised->set_value(1);
                   EXPECT_EQ(result->get(), 1);
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

TEST(StopOfLocalFibers, AFailingFiberOfItsScopeEndsEveryWait) {
  for (const wait_kind& each : local_waits()) {
    SCOPED_TRACE(each.name);
    local::runtime rt;
    rt.run([&] {
      be_ended_by_failure<local::scope>(each.wait, local::this_fiber::yield);
      each.after();
    });
  }
}

TEST(StopOfLocalFibers, EndsCallOnce) {
  local::runtime rt;
  rt.run([] {
    local::once_flag flag;
    local::event end;
    std::stop_source stop;
    std::atomic<bool> begun = false;
    local::fiber first = local::spawn([&] { local::call_once(flag, [&] { end.wait(); }); });
    const auto again = [&] { local::call_once(flag, [] { ADD_FAILURE() << "twice"; }); };
    local::this_fiber::yield();
    local::fiber waits = local::spawn([&] { be_cancelled(stop.get_token(), again, begun); });
    while (!begun)
      local::this_fiber::yield();
    stop.request_stop();
    waits.join();
    end.set();
    again();
    first.join();
  });
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

// A fiber that is stopped before it waits has not waited: it is ready, as its runtime's end must see.
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
