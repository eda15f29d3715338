// Every kind of wait ends because a stop was requested: of fibers of parallel runtimes and of OS threads.
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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
#include "sennit/mutex.hpp"
#include "sennit/once.hpp"
#include "sennit/recursive_mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"
#include "sennit/select.hpp"
#include "sennit/shared_mutex.hpp"
#include "sennit/wait_group.hpp"
#include "stop_support.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using detail::time_point;

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
    auto c = std::make_shared<channel<int>>();
    auto d = std::make_shared<channel<int>>();
    kind(
        "select", [=] { select(on_receive(*c, [](std::optional<int>) {}), on_send(*d, 1, [](bool) {})); },
        [=] {
          int value = 1;
          EXPECT_FALSE(c->try_send(value));  // there is no receiver
          EXPECT_EQ(d->try_receive(), std::nullopt);
        });
  }
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
        "shared mutex, to read", [=] { static_cast<void>(m->try_lock_shared_until(deadline)); },
        [=] {
          m->unlock();
          EXPECT_TRUE(m->try_lock());
          m->unlock();
        });
  }
  {
    auto m = std::make_shared<shared_mutex>();
    m->lock_shared();
    kind(
        "shared mutex, to write", [=] { static_cast<void>(m->try_lock_until(deadline)); },
        [=] {
          EXPECT_TRUE(m->try_lock_shared());  // no writer keeps readers out
          m->unlock_shared();
          m->unlock_shared();
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
    auto others = std::make_shared<barrier<>>(3);  // be_cancelled() arrives twice
    kind("barrier", [=] { others->arrive_and_wait(); }, [=] { others->arrive_and_wait(); });
  }
  {
    auto flag = std::make_shared<once_flag>();
    auto begun = std::make_shared<event>();
    auto end = std::make_shared<event>();
    std::thread([=] {
      call_once(*flag, [=] {
        begun->set();
        end->wait();
      });
    }).detach();
    begun->wait();
    const auto again = [=] { call_once(*flag, [] { ADD_FAILURE() << "twice"; }); };
    kind("call_once", again, [=] {
      end->set();
      again();
    });
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

class StopOfWaits : public testing::TestWithParam<unsigned> {
protected:
  runtime rt{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Workers, StopOfWaits, testing::Values(1u, 2u, 4u));

TEST_P(StopOfWaits, EndsEveryWait) {
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

TEST_P(StopOfWaits, ComesFromAnyThread) {
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

TEST_P(StopOfWaits, AFailingFiberOfItsScopeEndsEveryWait) {
  for (const time_point deadline : {detail::never, std::chrono::steady_clock::now() + 1h})
    for (const wait_kind& each : shared_waits(deadline)) {
      SCOPED_TRACE(each.name);
      rt.run([&] { be_ended_by_failure<scope>(each.wait, this_fiber::yield); });
      rt.run(each.after);
    }
}

TEST_P(StopOfWaits, EndsJoins) {
  event end;
  fiber joined = rt.spawn([&] { end.wait(); });
  std::stop_source stop;
  std::atomic<bool> begun = false;
  fiber joins = rt.spawn([&] { be_cancelled(stop.get_token(), [&] { joined.join(); }, begun); });
  while (!begun)
    std::this_thread::yield();
  stop.request_stop();
  joins.join();
  rt.run([&] { be_ended_by_failure<scope>([&] { joined.join(); }, this_fiber::yield); });
  end.set();
  joined.join();
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

TEST(StopOfThreads, AFailingFiberOfItsScopeEndsEveryWait) {
  runtime rt({.workers = 1});
  const std::vector<wait_kind> all = shared_waits(detail::never);
  for (std::size_t i = 1; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    scope of_this_thread;
    rt.spawn([&] { of_this_thread.spawn([] { throw failure(); }); }).detach();
    EXPECT_THROW(all[i].wait(), failure);
    EXPECT_THROW(all[i].wait(), cancelled);
    EXPECT_THROW(of_this_thread.join(), failure);
    all[i].after();
  }
}

}  // namespace
}  // namespace sennit
