// The waker of a fiber without a stack makes that fiber's next step in its own context: if it can (the
// shortcut), and if not (the fallback). Sockets: tests/unit/io/recognition_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;
namespace this_fiber = sennit::this_fiber;
using steady = std::chrono::steady_clock;

template <class Kind>
class Recognition : public sennit::kind_test<Kind> {};

// ---- Channels and ports: the side that moves the value to its place.

struct tally {
  const void* giver = nullptr;
  int by_giver = 0;
  int by_others = 0;
};

struct carried {
  explicit carried(tally& counts) : to(&counts) {}
  carried(carried&& other) noexcept : to(other.to) {
    ++(sennit::detail::caller() == to->giver ? to->by_giver : to->by_others);
  }
  carried& operator=(carried&&) = delete;
  tally* to;
};

// Those of one value that was given while its taker waited, and of one that was not.
struct two_tallies {
  tally waited;
  tally came_later;
};

void expect_one_more_by_the_giver(const two_tallies& of) {
  EXPECT_EQ(of.waited.by_giver, of.came_later.by_giver + 1);
  EXPECT_EQ(of.waited.by_others, of.came_later.by_others - 1);
}

KIND_TEST(Recognition, ASenderPutsItsValueIntoTheReceiversContinuation) {
  two_tallies counted;
  this->run([&] {
    for (tally* each : {&counted.waited, &counted.came_later}) {
      typename Kind::template channel<carried> values;
      const auto receive = [&] {
        return Kind::spawn_here([&] { return become(values.receiving(), [](std::optional<carried>) {}); });
      };
      typename Kind::fiber receiver;
      if (each == &counted.waited) {
        receiver = receive();
        sennit::until_stackless<Kind>(1);
      }
      auto sender = sennit::start<Kind>([&values, each] {
        each->giver = sennit::detail::caller();
        values.send(carried(*each));
      });
      if (!receiver.joinable())
        receiver = receive();
      receiver.join();
      sender.join();
    }
  });
  expect_one_more_by_the_giver(counted);
}

// The same the other way round: out of the sender's continuation, which waits; into the buffer, if there is
// one.
KIND_TEST(Recognition, AReceiverTakesTheValueOutOfTheSendersContinuation) {
  for (const std::size_t capacity : {0, 1}) {
    two_tallies counted;
    this->run([&] {
      for (tally* each : {&counted.waited, &counted.came_later}) {
        const bool waits = each == &counted.waited;
        tally nobodys;
        typename Kind::template channel<carried> values(capacity);
        if (waits && capacity != 0)
          values.send(carried(nobodys));  // and now it is full
        int turns = 0;
        const auto send = [&] {
          return Kind::spawn_here([&values, &turns, each] {
            return become(values.sending(carried(*each)), [&turns](bool taken) { turns += taken ? 1 : 100; });
          });
        };
        const auto receive = [&values, each] {
          each->giver = sennit::detail::caller();
          values.receive();
        };
        typename Kind::fiber sender;
        if (waits) {
          sender = send();
          sennit::until_stackless<Kind>(1);
        }
        auto receiver = sennit::start<Kind>(receive);
        if (!waits)
          sender = send();
        receiver.join();
        if (waits && capacity != 0) {
          EXPECT_EQ(each->by_giver, 1);  // it lies in the buffer
          values.receive();
        }
        sender.join();
        EXPECT_EQ(turns, 1);
      }
    });
    if (capacity == 0)
      expect_one_more_by_the_giver(counted);
  }
}

KIND_TEST(Recognition, ACallerPutsItsRequestIntoTheServersContinuation) {
  two_tallies counted;
  this->run([&] {
    for (tally* each : {&counted.waited, &counted.came_later}) {
      typename Kind::template port<carried, void> port;
      const auto serve = [&] {
        return Kind::spawn_here(
            [&] { return become(port.receiving(), [](auto request) { request.reply(); }); });
      };
      typename Kind::fiber server;
      if (each == &counted.waited) {
        server = serve();
        sennit::until_stackless<Kind>(1);
      }
      const auto call = [&port, each] {
        each->giver = sennit::detail::caller();
        port.call(carried(*each));
      };
      // A fiber files its call after it has left its stack, and has no identity then; a thread keeps its own.
      std::thread outside;
      typename Kind::fiber caller;
      if (each == &counted.waited && Kind::threads(1) == 1)
        outside = std::thread(call);
      else
        caller = sennit::start<Kind>(call);
      if (!server.joinable())
        server = serve();
      server.join();
      if (outside.joinable())
        outside.join();
      else
        caller.join();
    }
  });
  expect_one_more_by_the_giver(counted);
}

// The reply, where its caller waits without a stack; and where that has given up meanwhile, it stays where it
// is.
KIND_TEST(Recognition, AServerPutsItsReplyIntoTheCallersContinuation) {
  tally answered, late;
  this->run([&] {
    using port_type = typename Kind::template port<int, carried>;
    port_type port;
    for (tally* each : {&answered, &late}) {
      int had = 0;
      std::stop_source stop;
      auto caller = Kind::spawn_here([&] {
        const auto take = [&had, &answered](typename port_type::answer answer) {
          try {
            carried reply = answer.get();
            had = reply.to == &answered ? 1 : 3;
          } catch (const std::system_error&) {
            had = 2;
          }
        };
        return become(sennit::stoppable(port.calling(1), stop.get_token()), take);
      });
      auto request = port.receive();
      if (each == &late) {
        stop.request_stop();
        caller.join();
      }
      each->giver = sennit::detail::caller();
      EXPECT_EQ(request.reply(carried(*each)), each == &answered);
      if (caller.joinable())
        caller.join();
      EXPECT_EQ(had, each == &answered ? 1 : 2);
    }
  });
  EXPECT_EQ(answered.by_giver, late.by_giver + 1);
  EXPECT_GT(answered.by_others, 0);  // out of its own continuation
  EXPECT_EQ(late.by_others, 0);
}

// Whether the future waits, or comes later.
KIND_TEST(Recognition, WhoSetsAPromisePutsItsValueWhereTheFutureHasItFrom) {
  two_tallies counted;
  this->run([&] {
    for (tally* each : {&counted.waited, &counted.came_later}) {
      typename Kind::template promise<carried> promise;
      auto wanted = promise.get_future();
      const auto moves = [each] { return each->by_giver + each->by_others; };
      int at_its_turn = 0;
      const auto wait = [&] {
        return Kind::spawn_here([&] {
          return become(std::move(wanted).waiting(), [&](auto future) {
            at_its_turn = moves();
            EXPECT_EQ(future.get().to, each);
          });
        });
      };
      typename Kind::fiber waiter;
      if (each == &counted.waited) {
        waiter = wait();
        sennit::until_stackless<Kind>(1);
      }
      each->giver = sennit::detail::caller();
      promise.set_value(carried(*each));
      EXPECT_EQ(each->by_giver, 1);
      EXPECT_EQ(at_its_turn, 0);
      const int when_set = moves();
      if (!waiter.joinable())
        waiter = wait();
      waiter.join();
      EXPECT_EQ(at_its_turn, when_set);
    }
  });
  EXPECT_EQ(counted.waited.by_others, counted.came_later.by_others);
}

// ---- Mutexes: the owner between the unlock and the woken fiber's run.

template <class Kind>
bool is_given_by_unlock(typename Kind::mutex& mutex) {
  mutex.lock();
  bool had = false;
  auto waiter = Kind::spawn_here([&] {
    return become(mutex.locking(), [&] {
      had = true;
      mutex.unlock();
    });
  });
  sennit::until_stackless<Kind>(1);
  mutex.unlock();
  const bool given = !mutex.try_lock();
  EXPECT_FALSE(had);  // it has not run: it is of this worker
  if (!given) {
    Kind::yield();
    sennit::until_stackless<Kind>(1);  // it was overtaken, and waits as before
    EXPECT_FALSE(had);
    mutex.unlock();
  }
  waiter.join();
  EXPECT_TRUE(had);
  return given;
}

KIND_TEST(Recognition, AnUnlockGivesAFairMutexToWhoWaits) {
  this->run([] {
    if constexpr (std::is_same_v<Kind, sennit::local_kind>) {
      typename Kind::mutex mutex;
      EXPECT_TRUE(is_given_by_unlock<Kind>(mutex));
    } else {
      typename Kind::mutex mutex({.fairness = sennit::fairness::fair});
      EXPECT_TRUE(is_given_by_unlock<Kind>(mutex));
    }
  });
}

KIND_TEST(Recognition, AnUnlockOfAnotherMutexWakesWhoWaitsAgainWithoutAStackIfOvertaken) {
  if constexpr (std::is_same_v<Kind, sennit::parallel_kind>)
    this->run([] {
      typename Kind::mutex mutex;
      EXPECT_FALSE(is_given_by_unlock<Kind>(mutex));
    });
}

// ---- Timers: a deadline that was put off.

steady::time_point earliest_timer() {
  const sennit::detail::worker& here = *sennit::detail::this_worker();
  if (here.shared == nullptr)
    return here.deadlines.earliest();
  steady::time_point earliest = sennit::detail::never;
  for (const auto& each : here.shared->workers)
    earliest = std::min(earliest, each->timers.earliest());
  return earliest;
}

KIND_TEST(Recognition, WhoFiresATimerFilesAFiberAgainWhoseDeadlineWasPutOff) {
  std::atomic<steady::time_point> deadline;
  std::atomic<int> turns = 0;
  typename Kind::fiber sleeper;
  this->run([&] {
    const auto first = steady::now() + 1ms;
    deadline = first;
    sleeper = Kind::spawn(become(this_fiber::sleeping_until(deadline), [&turns] { ++turns; }));
    const auto far = first + 1h;
    deadline = far;
    Kind::sleep_for(20ms);
    for (int i = 0; earliest_timer() != far && i < 1000; ++i)
      Kind::sleep_for(1ms);
    EXPECT_EQ(earliest_timer(), far);  // the first has fired
    EXPECT_EQ(sennit::stackless(), 1u);
    EXPECT_EQ(turns, 0);
  });
  sleeper.detach();  // until its runtime ends
}

KIND_TEST(Recognition, WhoFiresATimerWakesAFiberWhoseDeadlineHasPassed) {
  this->run([] {
    const auto begin = steady::now();
    std::atomic<steady::time_point> deadline = begin + 5ms;
    std::vector<typename Kind::fiber> all;
    std::atomic<int> turns = 0;
    for (int i = 0; i < 100; ++i)
      all.push_back(Kind::spawn(become(this_fiber::sleeping_until(deadline), [&turns] { ++turns; })));
    for (int i = 0; i < 10; ++i) {
      deadline = begin + 10ms + i * 1ms;
      Kind::yield();
    }
    for (auto& each : all)
      each.join();
    EXPECT_EQ(turns, 100);
    EXPECT_GE(steady::now(), deadline.load());
  });
}

}  // namespace
