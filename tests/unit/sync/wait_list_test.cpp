// Waits of users' own: the wait_list of both kinds.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// Takes the first waiter, gives it a number in its place, and wakes it. Returns whether there was one.
template <class List>
bool give(List& list, int number) {
  list.lock();
  auto first = list.take_first();
  if (first)
    *first = number;
  list.unlock();
  const bool found(first);
  list.wake(std::move(first));
  return found;
}

bool always(int&) {
  return true;
}

template <class Kind>
class WaitLists : public kind_test<Kind> {};

KIND_TEST(WaitLists, AWakerDoesTheNextStepOfThoseThatHaveWaitedLongest) {
  typename Kind::template wait_list<int> list;
  std::vector<int> got(3);
  this->run([&] {
    EXPECT_FALSE(give(list, 7));
    std::vector<typename Kind::fiber> all;
    for (int& each : got)
      all.push_back(start<Kind>([&] {
        list.lock();
        list.wait(each);
      }));
    for (int i = 1; i <= 3; ++i)
      while (!give(list, i))
        Kind::yield();
    this->join(all);
  });
  EXPECT_EQ(got, (std::vector{1, 2, 3}));
}

KIND_TEST(WaitLists, FibersWithoutStacksWait) {
  typename Kind::template wait_list<int> list;
  int sum = 0;
  this->run([&] {
    auto waiting = Kind::spawn(become(list.waiting(-1, always), [&](waited<int> end) {
      EXPECT_EQ(end.how, wait_list_end::taken);
      sum += end.offer;
    }));
    while (!give(list, 5))
      Kind::yield();
    waiting.join();
    const auto takes_seven = [](int& offer) {
      offer = 7;
      return false;
    };
    Kind::spawn(become(list.waiting(-1, takes_seven), [&](waited<int> end) {
      EXPECT_EQ(end.how, wait_list_end::at_once);
      sum += end.offer;
    })).join();
  });
  EXPECT_EQ(sum, 12);
}

KIND_TEST(WaitLists, WaitersGiveUp) {
  typename Kind::template wait_list<int> list;
  this->run([&] {
    int offer = -1;
    list.lock();
    EXPECT_FALSE(list.wait_for(offer, 1ms));
    list.lock();
    EXPECT_FALSE(list.wait_until(offer, steady::now()));
    const auto gives_up = [](waited<int> end) {
      EXPECT_EQ(end.how, wait_list_end::given_up);
      EXPECT_EQ(end.offer, 3);
    };
    Kind::spawn(become(list.waiting_until(3, always, steady::now() + 1ms), gives_up)).join();
    std::stop_source stop;
    auto stopped = Kind::spawn_here(
        [&] { return become(stoppable(list.waiting(3, always), stop.get_token()), gives_up); });
    bool cancelled = false;
    auto guarded = Kind::spawn_here([&] {
      const stop_guard guard(stop.get_token());
      int mine = 0;
      list.lock();
      try {
        list.wait(mine);
      } catch (const sennit::cancelled&) {
        cancelled = true;
        throw;
      }
    });
    Kind::sleep_for(1ms);
    stop.request_stop();
    stopped.join();
    guarded.join();
    EXPECT_TRUE(cancelled);
    EXPECT_FALSE(give(list, 1));
    EXPECT_EQ(offer, -1);
  });
}

struct counter {
  int* total;
  int added;
};
void adds(counter state, waited<int> end) {
  *state.total += state.added + end.offer;
}
void does_not_add(counter, waited<int>) {}

KIND_TEST(WaitLists, AWakerLooksIntoTheContinuation) {
  typename Kind::template wait_list<int> list;
  int total = 0;
  this->run([&] {
    auto waiting = Kind::spawn(become(list.waiting(1, always), adds, counter{&total, 10}));
    const auto until_one_waits = [&] {
      for (list.lock(); list.empty(); list.lock()) {
        list.unlock();
        Kind::yield();
      }
    };
    until_one_waits();
    EXPECT_EQ(list.template first_state<counter>(does_not_add), nullptr);
    EXPECT_EQ(list.template first_state<int>(adds), nullptr);
    if (auto* state = list.template first_state<counter>(adds))
      state->added = 100;
    *list.first_offer() = 20;
    list.unlock();
    list.lock();
    auto first = list.take_first();
    list.unlock();
    list.wake(std::move(first));
    waiting.join();
    EXPECT_EQ(total, 120);
    // One with a stack has no continuation.
    auto stands = start<Kind>([&] {
      int mine = 0;
      list.lock();
      list.wait(mine);
    });
    until_one_waits();
    EXPECT_EQ(list.template first_state<counter>(adds), nullptr);
    list.unlock();
    EXPECT_TRUE(give(list, 0));
    stands.join();
    list.lock();
    EXPECT_EQ(list.first_offer(), nullptr);
    EXPECT_EQ(list.template first_state<counter>(adds), nullptr);
    list.unlock();
  });
}

// Fibers hand control to each other, each by one step that wakes another one and waits.
KIND_TEST(WaitLists, FibersHandControlToEachOther) {
  typename Kind::template wait_list<int> list;
  constexpr int fibers = 3;
  constexpr int turns = 1000;
  std::atomic<int> ended{0};
  this->run([&] {
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < fibers; ++i)
      all.push_back(Kind::spawn([&] {
        for (int left = turns; left != 0; --left) {
          int offer = 0;
          list.lock();
          auto waiting = list.take_first();
          if (waiting)
            *waiting = 1;
          EXPECT_TRUE(list.wait_waking(std::move(waiting), offer));
          EXPECT_EQ(offer, 1);
        }
        ++ended;
      }));
    while (ended != fibers) {  // the last one has no partner
      give(list, 1);
      Kind::yield();
    }
    this->join(all);
  });
}

// The same without stacks.
template <class List>
struct passing {
  List* list;
  int turns;
  std::atomic<int>* ended;

  static continuation pass(passing self) {
    if (self.turns-- == 0) {
      ++*self.ended;
      return {};
    }
    return become(
        self.list->waiting(0,
                           [list = self.list](int&, typename List::taken& woken) {
                             woken = list->take_first();
                             if (woken)
                               *woken = 1;
                             return true;
                           }),
        [](passing at, waited<int> end) {
          EXPECT_EQ(end.how, wait_list_end::taken);
          EXPECT_EQ(end.offer, 1);
          return pass(at);
        },
        self);
  }
};
KIND_TEST(WaitLists, FibersWithoutStacksHandControlToEachOther) {
  using list_type = typename Kind::template wait_list<int>;
  list_type list;
  std::atomic<int> ended{0};
  this->run([&] {
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 3; ++i)
      all.push_back(Kind::spawn(
          become(this_fiber::yielding(), passing<list_type>::pass, passing<list_type>{&list, 1000, &ended})));
    while (ended != 3) {  // the last ones have no partner
      give(list, 1);
      Kind::yield();
    }
    this->join(all);
  });
}

// Fibers and threads, with and without a deadline, take numbers that others give: each arrives once.
KIND_TEST(WaitLists, NothingIsLost) {
  typename Kind::template wait_list<int> list;
  constexpr int each_takes = 200;
  std::atomic<int> taken{0};
  std::atomic<int> left{0};
  std::atomic<long> sum{0};
  constexpr int takers = 6;
  this->run_all(
      takers + 2,
      [&](int me) {
        if (me < takers) {
          for (int i = 0; i < each_takes; ++i) {
            int number = 0;
            list.lock();
            if (me % 2 == 0)
              list.wait(number);
            else if (!list.wait_for(number, std::chrono::microseconds(i % 50))) {
              --i;
              continue;
            }
            sum += number;
          }
          ++left;
          return;
        }
        while (left != takers) {
          if (give(list, 1))
            ++taken;
          else
            Kind::sleep_for(
                10us);  // not a yield: under lifo, fibers that yield could keep the takers waiting
        }
      },
      Kind::threads(2));
  EXPECT_EQ(sum, taken);
  EXPECT_EQ(sum, takers * each_takes);
}

KIND_TEST(WaitLists, TheRuntimesEndTakesFibersOut) {
  typename Kind::template wait_list<int> list;
  {
    Kind runtime;
    runtime.run([&] {
      Kind::spawn(become(list.waiting(1, always), [](waited<int>) { ADD_FAILURE(); })).detach();
      start<Kind>([&] {
        int mine = 0;
        list.lock();
        list.wait(mine);
        ADD_FAILURE();
      }).detach();
      for (list.lock(); list.empty(); list.lock()) {
        list.unlock();
        Kind::yield();
      }
      list.unlock();
    });
  }
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace sennit
