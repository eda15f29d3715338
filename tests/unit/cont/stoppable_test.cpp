// Waits without a stack that a stop ends.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/select.hpp"
#include "support/kinds.hpp"
#include "wait_kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;
using sennit::expect_each;
using sennit::generous;
using sennit::past;
using sennit::request;
using sennit::running;
using sennit::soon;
using sennit::steady;
using sennit::stoppable;
using sennit::until_stackless;
using sennit::wait_kinds;

template <class Kind>
class BecomeStoppable : public sennit::kind_test<Kind> {};

auto by(std::stop_token token) {
  return [token = std::move(token)](auto wait) { return stoppable(std::move(wait), token); };
}

template <class Kind>
void expect_all_stopped(bool elsewhere, bool before, bool with_deadline) {
  wait_kinds<Kind> of;
  of.lock_all();
  std::stop_source stop;
  if (before)
    request(stop, elsewhere);
  std::atomic<int> results[of.count] = {};
  running<Kind> waiting;
  if (with_deadline)
    of.each(results, generous(), std::ref(waiting), by(stop.get_token()));
  else
    of.each(results, std::ref(waiting), by(stop.get_token()));
  if (!before) {
    until_stackless<Kind>(of.count);
    expect_each(results, 0);
    request(stop, elsewhere);
  }
  waiting.join();
  expect_each(results, -1);
  of.nobody_waits();
}

KIND_TEST(BecomeStoppable, AStopEndsEachWait) {
  this->run([] {
    for (const bool elsewhere : {false, true})
      for (const bool before : {false, true})
        for (const bool with_deadline : {false, true})
          expect_all_stopped<Kind>(elsewhere, before, with_deadline);
  });
}

KIND_TEST(BecomeStoppable, WokenBeforeAnyStop) {
  this->run([] {
    for (const bool with_deadline : {false, true}) {
      wait_kinds<Kind> of;
      of.lock_all();
      std::stop_source stop;
      std::atomic<int> results[of.count] = {};
      running<Kind> waiting;
      if (with_deadline)
        of.each(results, generous(), std::ref(waiting), by(stop.get_token()));
      else
        of.each(results, std::ref(waiting), by(stop.get_token()));
      until_stackless<Kind>(of.count);
      of.bring_all();
      waiting.join();
      stop.request_stop();  // there is no waiter
      expect_each(results, 1);
      of.unlock_all();
    }
  });
}

KIND_TEST(BecomeStoppable, TheDeadlinePassesBeforeAnyStop) {
  this->run([] {
    wait_kinds<Kind> of;
    of.lock_all();
    std::stop_source stop;
    std::atomic<int> results[of.count] = {};
    running<Kind> waiting;
    of.each(results, soon(), std::ref(waiting), by(stop.get_token()));
    waiting.join();
    stop.request_stop();
    expect_each(results, -1);
    of.nobody_waits();
  });
}

// A token without a source is one, too.
KIND_TEST(BecomeStoppable, ATokenWithoutASource) {
  this->run([] {
    typename Kind::event event;
    std::atomic<int> result = 0;
    auto waits = Kind::spawn([&] {
      return become(stoppable(event.waiting(), {}), [&](bool happened) { result = happened ? 1 : -1; });
    });
    until_stackless<Kind>(1);
    event.set();
    waits.join();
    EXPECT_EQ(result, 1);
  });
}

KIND_TEST(BecomeStoppable, WhatIsThereIsHadAfterTheStop) {
  this->run([] {
    wait_kinds<Kind> of;
    of.event.set();
    of.semaphore.release();
    of.group.done();
    of.promise.set_value(9);
    std::vector<typename Kind::fiber> peers;
    peers.push_back(sennit::start<Kind>([&] { of.numbers.send(7); }));
    peers.push_back(sennit::start<Kind>([&] { of.texts.send("a text too long to lie in the object"); }));
    peers.push_back(sennit::start<Kind>([&] { of.taken.receive(); }));
    std::stop_source stop;
    stop.request_stop();
    std::atomic<int> results[of.count] = {};
    running<Kind> waiting;
    of.each(results, std::ref(waiting), by(stop.get_token()));
    waiting.join();
    expect_each(results, 1);
    for (auto& each : peers)
      each.join();
    of.unlock_all();
  });
}

KIND_TEST(BecomeStoppable, ParksAndSleeps) {
  this->run([] {
    for (const bool elsewhere : {false, true}) {
      std::atomic<int> result = 0;
      const auto waits = [&](const std::stop_source& stop, auto wait) {
        result = 0;
        return Kind::spawn([&, token = stop.get_token(), wait = std::move(wait)]() mutable {
          return become(stoppable(std::move(wait), token), [&](bool came) { result = came ? 1 : -1; });
        });
      };
      const auto is_stopped = [&](auto wait) {
        std::stop_source stop;
        auto waiting = waits(stop, std::move(wait));
        until_stackless<Kind>(1);
        request(stop, elsewhere);
        waiting.join();
        EXPECT_EQ(result, -1);
      };
      is_stopped(sennit::this_fiber::parking());
      is_stopped(sennit::this_fiber::parking_until(generous()));
      is_stopped(sennit::this_fiber::sleeping_until(generous()));
      std::stop_source stop;
      waits(stop, sennit::this_fiber::sleeping_for(1ms)).join();
      EXPECT_EQ(result, 1);
      waits(stop, sennit::this_fiber::parking_until(soon())).join();
      EXPECT_EQ(result, -1);
      auto unparked = waits(stop, sennit::this_fiber::parking());
      until_stackless<Kind>(1);
      unparked.unpark();
      unparked.join();
      EXPECT_EQ(result, 1);
      stop.request_stop();
      for (const bool parks : {true, false}) {
        (parks ? waits(stop, sennit::this_fiber::parking())
               : waits(stop, sennit::this_fiber::sleeping_until(generous())))
            .join();
        EXPECT_EQ(result, -1);
      }
    }
  });
}

// What was requested before a fiber's first wait, which it begins with.
KIND_TEST(BecomeStoppable, AFiberThatBeginsWithIt) {
  this->run([] {
    typename Kind::event event;
    std::stop_source stop;
    std::atomic<int> result = 0;
    const auto waits = [&] {
      return Kind::spawn(become(stoppable(event.waiting(), stop.get_token()),
                                [&](bool happened) { result = happened ? 1 : -1; }));
    };
    auto first = waits();
    until_stackless<Kind>(1);
    stop.request_stop();
    first.join();
    EXPECT_EQ(result.exchange(0), -1);
    waits().join();
    EXPECT_EQ(result, -1);
  });
}

KIND_TEST(BecomeStoppable, ABarrierThatItHasArrivedAt) {
  this->run([] {
    typename Kind::barrier all(2);
    std::stop_source stop;
    std::atomic<int> result = 0;
    const auto arrives = [&](std::stop_token token) {
      return Kind::spawn([&, token] {
        return become(stoppable(all.arriving(), token), [&](bool over) { result = over ? 1 : -1; });
      });
    };
    auto stopped = arrives(stop.get_token());
    until_stackless<Kind>(1);
    stop.request_stop();
    stopped.join();
    EXPECT_EQ(result, -1);
    all.arrive_and_wait();  // it is the second
    auto goes_on = arrives({});
    until_stackless<Kind>(1);
    all.arrive_and_wait();
    goes_on.join();
    EXPECT_EQ(result, 1);
  });
}

KIND_TEST(BecomeStoppable, Joins) {
  this->run([] {
    for (const bool with_deadline : {false, true}) {
      typename Kind::event go;
      std::stop_source stop;
      typename Kind::fiber again;
      auto child = Kind::spawn([&] { go.wait(); });
      const auto waits = [&](std::stop_token token) {
        const auto on = [&](typename Kind::fiber joined) { again = std::move(joined); };
        return Kind::spawn([=, &child] {
          return with_deadline
                     ? become(stoppable(sennit::joining_until(std::move(child), generous()), token), on)
                     : become(stoppable(sennit::joining(std::move(child)), token), on);
        });
      };
      auto stopped = waits(stop.get_token());
      until_stackless<Kind>(1);
      stop.request_stop();
      stopped.join();
      ASSERT_TRUE(again.joinable());
      child = std::move(again);
      auto joins = waits({});
      until_stackless<Kind>(1);
      go.set();
      joins.join();
      EXPECT_FALSE(again.joinable());
    }
  });
}

KIND_TEST(BecomeStoppable, ConditionVariables) {
  this->run([] {
    typename Kind::mutex mutex;
    typename Kind::condition_variable changed;
    std::atomic<int> result = 0;
    const auto waits = [&](std::stop_token token) {
      return Kind::spawn([&, token] {
        return become(stoppable(changed.waiting(std::unique_lock(mutex)), token), [&](auto ended) {
          EXPECT_TRUE(ended.first.owns_lock());
          EXPECT_FALSE(mutex.try_lock());
          result = ended.second == std::cv_status::no_timeout ? 1 : -1;
        });
      });
    };
    std::stop_source stop;
    auto stopped = waits(stop.get_token());
    until_stackless<Kind>(1);
    {
      const std::lock_guard hold(mutex);
      stop.request_stop();
      Kind::sleep_for(2ms);
      EXPECT_EQ(result, 0);  // not before it has the lock
    }
    stopped.join();
    EXPECT_EQ(result, -1);
    waits(stop.get_token()).join();
    EXPECT_EQ(result, -1);
    auto notified = waits({});
    until_stackless<Kind>(1);
    changed.notify_one();
    notified.join();
    EXPECT_EQ(result, 1);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

KIND_TEST(BecomeStoppable, Selects) {
  this->run([] {
    for (const bool elsewhere : {false, true}) {
      typename Kind::template channel<int> numbers;
      typename Kind::template channel<std::string> texts;
      std::atomic<int> done = 0;
      std::atomic<std::size_t> chosen = 9;
      const auto waits = [&](std::stop_token token, steady::time_point late) {
        chosen = 9;
        return Kind::spawn([&, token, late] {
          return become(stoppable(sennit::selecting(sennit::on_receive(numbers, [&](auto) { ++done; }),
                                                    sennit::on_send(texts, "text", [&](bool) { ++done; }),
                                                    sennit::on_timeout(late, [&] { ++done; })),
                                  token),
                        [&](std::size_t number) { chosen = number; });
        });
      };
      std::stop_source stop;
      for (const auto late : {generous(), steady::time_point::max()}) {
        stop = std::stop_source();
        auto stopped = waits(stop.get_token(), late);
        until_stackless<Kind>(1);
        request(stop, elsewhere);
        stopped.join();
        EXPECT_EQ(chosen, 3u);
        EXPECT_EQ(done, 0);
        EXPECT_FALSE(texts.try_receive());
        waits(stop.get_token(), late).join();
        EXPECT_EQ(chosen, 3u);
      }
      waits({}, soon()).join();
      EXPECT_EQ(chosen, 2u);
      EXPECT_EQ(done, 1);
      auto receives = waits(std::stop_source().get_token(), generous());
      until_stackless<Kind>(1);
      numbers.send(7);
      receives.join();
      EXPECT_EQ(chosen, 0u);
      EXPECT_EQ(done, 2);
    }
  });
}

// Another has come first when it is woken: a stop ends the rest of the wait, too.
TEST(BecomeStoppableMutex, IsStoppedWhileItWaitsOnceMore) {
  for (const bool with_deadline : {false, true}) {
    sennit::runtime runtime({.workers = 1});
    runtime.run([with_deadline] {
      sennit::mutex mutex;
      std::stop_source stop;
      int result = 0;
      mutex.lock();
      auto waits = sennit::spawn([&, token = stop.get_token()] {
        const auto on = [&](bool locked) { result = locked ? 1 : -1; };
        return with_deadline ? become(stoppable(mutex.locking_until(generous()), token), on)
                             : become(stoppable(mutex.locking(), token), on);
      });
      until_stackless<sennit::parallel_kind>(1);
      mutex.unlock();
      mutex.lock();
      sennit::this_fiber::sleep_for(1ms);
      EXPECT_EQ(sennit::stackless(), 0u);
      EXPECT_EQ(result, 0);
      stop.request_stop();
      waits.join();
      EXPECT_EQ(result, -1);
      mutex.unlock();
    });
  }
}

KIND_TEST(BecomeStoppable, Ports) {
  this->run([] {
    using numbers = typename Kind::template port<int, int>;
    numbers port;
    std::atomic<int> code = 0;
    const auto calls = [&](std::stop_token token) {
      return Kind::spawn([&, token] {
        return become(stoppable(port.calling(4), token), [&](typename numbers::answer answer) {
          try {
            code = answer.get();
          } catch (const std::system_error& error) {
            code = -error.code().value();
          }
        });
      });
    };
    constexpr int canceled = -static_cast<int>(std::errc::operation_canceled);
    std::stop_source stop;
    auto nobody_has_it = calls(stop.get_token());
    until_stackless<Kind>(1);
    stop.request_stop();
    nobody_has_it.join();
    EXPECT_EQ(code, canceled);
    EXPECT_FALSE(port.receive_until(past()));

    stop = std::stop_source();
    code = 0;
    auto taken = calls(stop.get_token());
    until_stackless<Kind>(1);
    auto next = port.receive();
    stop.request_stop();
    taken.join();
    EXPECT_EQ(code, canceled);
    EXPECT_FALSE(next.reply(8));

    std::atomic<int> served = 0;
    const auto serves = [&](std::stop_token token) {
      return Kind::spawn([&, token] {
        return become(stoppable(port.receiving(), token), [&](typename numbers::incoming asked) {
          if (asked)
            asked.reply(2 * *asked);
          served = asked ? 1 : -1;
        });
      });
    };
    auto answers = serves({});
    auto gets_it = calls({});
    gets_it.join();
    answers.join();
    EXPECT_EQ(code, 8);
    stop = std::stop_source();
    auto stopped = serves(stop.get_token());
    until_stackless<Kind>(1);
    stop.request_stop();
    stopped.join();
    EXPECT_EQ(served, -1);
    auto in_vain = calls(stop.get_token());
    in_vain.join();
    EXPECT_EQ(code, canceled);
  });
}

// Its runtime ends while it waits: it just ends. A stop that comes then, or later, finds no waiter.
KIND_TEST(BecomeStoppable, TheRuntimesEnd) {
  for (int round = 0; round < 50; ++round) {
    wait_kinds<Kind> of;
    std::stop_source stop;
    std::atomic<int> results[of.count] = {};
    std::atomic<int> went_on = 0;
    const auto alive = std::make_shared<int>(0);
    std::atomic<bool> stops = round % 2 == 0;
    std::atomic<bool> over = false;
    std::thread stopping([&] {
      while (!stops && !over) {
      }
      stop.request_stop();
    });
    {
      Kind its;
      its.run([&] {
        of.lock_all();
        const auto detached = [](auto function) { Kind::spawn(std::move(function)).detach(); };
        if (round % 4 < 2)
          of.each(results, detached, by(stop.get_token()));
        else
          of.each(results, generous(), detached, by(stop.get_token()));
        for (int i = 0; i < 3; ++i)
          detached([&, i, token = stop.get_token()] {
            const auto on = [&](std::shared_ptr<int>, bool) { ++went_on; };
            return i == 0   ? become(stoppable(of.event.waiting(), token), on, alive)
                   : i == 1 ? become(stoppable(sennit::this_fiber::parking(), token), on, alive)
                            : become(stoppable(sennit::this_fiber::sleeping_for(1h), token), on, alive);
          });
        if (round % 2 != 0) {
          until_stackless<Kind>(of.count + 3);
          stops = round % 3 == 0;
        }
      });
    }
    over = true;
    stopping.join();
    EXPECT_EQ(alive.use_count(), 1);
    if (round % 2 != 0 && round % 3 != 0) {
      EXPECT_EQ(went_on, 0);
      expect_each(results, 0);
    }
    // The stopped fiber no longer has the future, or whatever it was.
    of.nobody_waits();
  }
}

}  // namespace
