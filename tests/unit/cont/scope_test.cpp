// Fibers of scopes that block without a stack: the scope sees how the last of their functions ends.
#include "sennit/scope.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/fiber_local.hpp"
#include "sennit/select.hpp"
#include "support/kinds.hpp"
#include "wait_kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::become_now;
using sennit::cancelled;
using sennit::continuation;
using sennit::generous;
using sennit::request;
using sennit::steady;
using sennit::stoppable;
using sennit::until_stackless;
using sennit::wait_kinds;
namespace this_fiber = sennit::this_fiber;

template <class Kind>
class ScopeWithoutStack : public sennit::kind_test<Kind> {};

// What each fiber owns: gone when it is.
using owned = std::shared_ptr<int>;
owned make_owned() {
  return std::make_shared<int>(0);
}

struct owning_steps {
  owned mine;
  std::atomic<int>* ends;
  int left;
};
continuation take_step(owning_steps state) {
  if (state.left-- == 0) {
    ++*state.ends;
    return {};
  }
  if (state.left % 2 == 0)
    return become(this_fiber::sleeping_for(10us), take_step, std::move(state));
  return become(this_fiber::yielding(), take_step, std::move(state));
}

KIND_TEST(ScopeWithoutStack, EndsWhenTheLastFunctionsHaveEnded) {
  this->run([] {
    const owned all = make_owned();
    std::atomic<int> ends = 0;
    {
      typename Kind::scope scope;
      for (int i = 0; i < 50; ++i)
        scope.spawn(
            [state = owning_steps{all, &ends, i % 9}]() mutable { return take_step(std::move(state)); });
      for (int i = 0; i < 10; ++i)
        scope.spawn(become(this_fiber::yielding(), take_step, owning_steps{all, &ends, 3}));
    }
    EXPECT_EQ(ends, 60);
    EXPECT_EQ(all.use_count(), 1);
  });
}

KIND_TEST(ScopeWithoutStack, EndsWhenFiberLocalsHaveEnded) {
  static std::atomic<int> values = 0;
  struct slow {
    slow() { ++values; }
    ~slow() {
      Kind::sleep_for(200us);
      --values;
    }
  };
  static sennit::fiber_local<slow> value;
  this->run([] {
    for (const bool stopped : {false, true}) {
      typename Kind::scope scope;
      for (int i = 0; i < 5; ++i)
        scope.spawn([stopped] {
          value.get();
          return become(this_fiber::sleeping_for(stopped ? 24h : 1us), [] {});
        });
      if (stopped) {
        until_stackless<Kind>(5);
        scope.request_stop();
      }
      scope.join();
      EXPECT_EQ(values, 0);
    }
  });
}

KIND_TEST(ScopeWithoutStack, TheFirstErrorOfAnyFunctionComesOut) {
  this->run([] {
    const owned all = make_owned();
    typename Kind::template channel<int> nothing;
    std::atomic<int> stopped = 0;
    std::atomic<int> went_on = 0;
    typename Kind::scope scope;
    for (int i = 0; i < 5; ++i) {
      scope.spawn([&, all] {
        try {
          nothing.receive();
        } catch (const cancelled&) {
          ++stopped;
          throw;
        }
      });
      scope.spawn([&, all] {
        return become(nothing.receiving(), [&](const owned&, const std::optional<int>&) { ++went_on; }, all);
      });
    }
    scope.spawn([] {
      return become(this_fiber::sleeping_for(1ms),
                    [] { return become(this_fiber::yielding(), [] { throw std::runtime_error("first"); }); });
    });
    try {
      scope.join();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "first");
    }
    EXPECT_EQ(stopped, 5);
    EXPECT_EQ(went_on, 0);
    EXPECT_EQ(all.use_count(), 1);
    EXPECT_NO_THROW(scope.join());  // once
  });
}

// ---- stop

// A fiber for each wait that there is; how many.
template <class Kind, class Waits>
int wait_for_each(wait_kinds<Kind>& of, Waits waits) {
  int count = 0;
  const auto one = [&](auto make) {
    ++count;
    waits(std::move(make));
  };
  one([&] { return of.event.waiting(); });
  one([&] { return of.semaphore.acquiring(); });
  one([&] { return of.group.waiting(); });
  one([&] { return of.mutex.locking(); });
  one([&] { return of.numbers.receiving(); });
  one([&] { return of.texts.receiving(); });
  one([&] { return of.taken.sending(1); });
  one([&] { return of.promise.get_future().waiting(); });
  one([&] { return of.read.locking_shared(); });
  one([&] { return of.written.locking(); });
  one([&] { return of.event.waiting_until(generous()); });
  one([&] { return of.semaphore.acquiring_until(generous()); });
  one([&] { return of.mutex.locking_until(generous()); });
  one([&] { return of.numbers.receiving_until(generous()); });
  one([&] {
    return sennit::selecting(sennit::on_receive(of.numbers, [](auto&&) {}),
                             sennit::on_receive(of.texts, [](auto&&) {}));
  });
  one([&] { return this_fiber::parking(); });
  one([&] { return this_fiber::parking_until(generous()); });
  one([&] { return this_fiber::sleeping_for(24h); });
  static std::atomic<steady::time_point> put_off;
  put_off = generous();
  one([&] { return this_fiber::sleeping_until(put_off); });
  return count;
}

template <class Kind>
void expect_all_ended(bool elsewhere, bool before) {
  wait_kinds<Kind> of;
  of.lock_all();
  const owned all = make_owned();
  std::atomic<int> went_on = 0;
  std::stop_source stop;
  {
    typename Kind::scope scope;
    const std::stop_callback both(stop.get_token(), [&] { scope.request_stop(); });
    if (before)
      request(stop, elsewhere);
    const int count = wait_for_each(of, [&](auto make) {
      scope.spawn([&went_on, all, make = std::move(make)] {
        return become(make(), [&went_on, all](auto&&...) { ++went_on; });
      });
    });
    if (!before) {
      until_stackless<Kind>(static_cast<std::size_t>(count));
      request(stop, elsewhere);
    }
  }
  EXPECT_EQ(went_on, 0);
  EXPECT_EQ(all.use_count(), 1);
  of.nobody_waits();
}

KIND_TEST(ScopeWithoutStack, AStopEndsEachWait) {
  this->run([] {
    for (const bool elsewhere : {false, true})
      for (const bool before : {false, true})
        expect_all_ended<Kind>(elsewhere, before);
  });
}

KIND_TEST(ScopeWithoutStack, AStopEndsACallAndAServersWait) {
  this->run([] {
    using numbers = typename Kind::template port<int, int>;
    numbers asked;
    numbers served;
    const owned all = make_owned();
    {
      typename Kind::scope scope;
      scope.spawn(
          [&, all] { return become(asked.calling(1), [all](typename numbers::answer) { ADD_FAILURE(); }); });
      scope.spawn(
          [&, all] { return become(asked.calling(2), [all](typename numbers::answer) { ADD_FAILURE(); }); });
      scope.spawn([&, all] {
        return become(served.receiving(), [all](typename numbers::incoming) { ADD_FAILURE(); });
      });
      until_stackless<Kind>(3);
      auto taken = asked.receive();
      scope.request_stop();
      scope.join();
      EXPECT_FALSE(taken.reply(1));  // its caller does not want it
    }
    EXPECT_EQ(all.use_count(), 1);
    EXPECT_FALSE(asked.receive_until(sennit::past()));
    EXPECT_FALSE(served.call_until(1, steady::now() + 1ms));
  });
}

KIND_TEST(ScopeWithoutStack, WhatIsThereIsHadThoughItWasStopped) {
  this->run([] {
    typename Kind::template channel<int> numbers(2);
    numbers.send(1);
    int got = 0;
    typename Kind::scope scope;
    scope.request_stop();
    scope.spawn([&] {
      return become(numbers.receiving(), [&](std::optional<int> number) {
        got = number.value_or(-1);
        return become(numbers.receiving(), [&](std::optional<int>) { got = -2; });
      });
    });
    scope.join();
    EXPECT_EQ(got, 1);
  });
}

KIND_TEST(ScopeWithoutStack, WaitsWithAStackThrowWhereItGoesOn) {
  this->run([] {
    typename Kind::event begun;
    int told = 0;
    typename Kind::scope scope;
    scope.spawn([&] {
      return become(this_fiber::yielding(), [&] {
        begun.set();
        try {
          Kind::sleep_for(24h);
        } catch (const cancelled&) {
          told += sennit::stop_requested();
        }
        const sennit::stop_shield in_any_case;
        Kind::sleep_for(1us);
        told += !sennit::stop_requested();
        return become(this_fiber::yielding(), [&] {
          told += sennit::stop_requested();
          Kind::sleep_for(24h);
          ADD_FAILURE();
        });
      });
    });
    begun.wait();
    scope.request_stop();
    scope.join();
    EXPECT_EQ(told, 3);
  });
}

KIND_TEST(ScopeWithoutStack, AWaitThatIsStoppableByItselfHasALastWord) {
  this->run([] {
    for (const bool elsewhere : {false, true})
      for (const bool before : {false, true}) {
        typename Kind::template channel<int> nothing;
        std::atomic<int> words = 0;
        std::stop_source stop;
        typename Kind::scope scope;
        const std::stop_callback both(stop.get_token(), [&] { scope.request_stop(); });
        if (before)
          request(stop, elsewhere);
        for (int i = 0; i < 5; ++i)
          scope.spawn([&] {
            return become(stoppable(nothing.receiving(), scope.get_token()), [&](std::optional<int> number) {
              words += !number && scope.stop_requested();
              return become(nothing.receiving(), [](std::optional<int>) { ADD_FAILURE(); });
            });
          });
        if (!before) {
          until_stackless<Kind>(5);
          request(stop, elsewhere);
        }
        scope.join();
        EXPECT_EQ(words, 5);
      }
  });
}

KIND_TEST(ScopeWithoutStack, StopsWithTheScopeAroundIt) {
  this->run([] {
    const owned all = make_owned();
    typename Kind::scope outer;
    for (int i = 0; i < 3; ++i)
      outer.spawn([all] {
        return become(this_fiber::yielding(), [all] {
          typename Kind::scope inner;
          for (int k = 0; k < 3; ++k)
            inner.spawn([all] { return become(this_fiber::sleeping_for(24h), [all] { ADD_FAILURE(); }); });
          inner.join();
          ADD_FAILURE() << "went on";
        });
      });
    until_stackless<Kind>(9);
    outer.request_stop();
    outer.join();
    EXPECT_EQ(all.use_count(), 1);
  });
}

KIND_TEST(ScopeWithoutStack, EndsWithItsRuntime) {
  const owned all = make_owned();
  Kind().run([&] {
    Kind::spawn([all] {
      typename Kind::scope scope;
      for (int i = 0; i < 5; ++i)
        scope.spawn([all] { return become(this_fiber::parking(), [all] { ADD_FAILURE(); }); });
      scope.join();
    }).detach();
    until_stackless<Kind>(5);
  });
  EXPECT_EQ(all.use_count(), 1);
}

// Wakes and stops at the same time: a taken value has been received, and no waiter stays behind.
KIND_TEST(ScopeWithoutStack, LosesNothingWhenAStopAndAWakeMeet) {
  constexpr int rounds = 300;
  constexpr int receivers = 4;
  std::atomic<long> received = 0;
  long taken = 0;
  for (int round = 0; round < rounds; ++round)
    this->run([&] {
      typename Kind::template channel<int> numbers;
      std::stop_source stop;
      typename Kind::scope scope;
      const std::stop_callback both(stop.get_token(), [&] { scope.request_stop(); });
      struct taker {
        typename Kind::template channel<int>* from;
        std::atomic<long>* sum;
        static continuation go_on(taker self, std::optional<int> number) {
          *self.sum += number.value();
          return become(self.from->receiving(), go_on, self);
        }
      };
      for (int i = 0; i < receivers; ++i)
        scope.spawn(become(numbers.receiving(), taker::go_on, taker{&numbers, &received}));
      std::thread stops([&] { stop.request_stop(); });
      for (int i = 0; i < 20; ++i) {
        int number = 1;
        taken += numbers.try_send(number);
        if (i % 4 == 0)
          Kind::yield();
      }
      scope.join();
      stops.join();
    });
  EXPECT_EQ(received, taken);
}

// ---- the forms that do not return

KIND_TEST(ScopeWithoutStack, MayLeaveItsFramesForGood) {
  this->run([] {
    const owned all = make_owned();
    static int ends;
    ends = 0;
    typename Kind::scope scope;
    scope.spawn([all] {
      become_now(this_fiber::yielding(), [] {
        ++ends;
        become_now(this_fiber::yielding(), [] { throw std::runtime_error("the last"); });
      });
    });
    scope.spawn([all] { become_now(this_fiber::sleeping_for(24h), [] { ++ends; }); });
    EXPECT_THROW(scope.join(), std::runtime_error);
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(all.use_count(), 1);
  });
}

KIND_TEST(ScopeWithoutStack, MayYieldAway) {
  this->run([] {
    const owned all = make_owned();
    static std::atomic<int> yields;
    yields = 0;
    typename Kind::scope scope;
    for (int i = 0; i < 3; ++i)
      scope.spawn([all] {
        this_fiber::set_yield_continuation([] {
          if (++yields >= 9)
            throw std::runtime_error("enough");
          Kind::yield();
        });
        Kind::yield();
        ADD_FAILURE() << "came back";
      });
    EXPECT_THROW(scope.join(), std::runtime_error);
    EXPECT_GE(yields, 11);  // each threw, and the first came out
    EXPECT_EQ(all.use_count(), 1);
  });
}

// A fiber that was caught on its way continues with something else.
KIND_TEST(ScopeWithoutStack, MayCatchAYieldThatWasToLeave) {
  this->run([] {
    int ended = 0;
    typename Kind::scope scope;
    scope.spawn([&ended] {
      this_fiber::set_yield_continuation([](const std::string&) { ADD_FAILURE(); }, std::string(40, 'x'));
      try {
        Kind::yield();
      } catch (...) {  // which is not to be done
      }
      return become(this_fiber::sleeping_for(1us), [&ended] { ++ended; });
    });
    scope.join();
    EXPECT_EQ(ended, 1);
  });
}

}  // namespace
