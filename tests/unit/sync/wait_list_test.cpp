// Waits of users' own: the wait_list of both kinds.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/event.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/scope.hpp"
#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// Gives the first waiter a number in its place. Returns whether there was one.
template <class List>
bool give(List& list, int number) {
  return list.locked([&](auto& waiting) { return waiting.wake_first([&](int& place) { place = number; }); });
}
template <class List>
bool nobody_waits(List& list) {
  return list.locked([](auto& waiting) { return waiting.empty(); });
}

bool always(int&) {
  return true;
}

template <class Kind>
class WaitLists : public kind_test<Kind> {
protected:
  template <class List>
  static void until_one_waits(List& list) {
    while (nobody_waits(list))
      Kind::yield();
  }
};

KIND_TEST(WaitLists, AWakerDoesTheNextStepOfThoseThatHaveWaitedLongest) {
  typename Kind::template wait_list<int> list;
  std::vector<int> got(3);
  this->run([&] {
    EXPECT_FALSE(give(list, 7));
    std::vector<typename Kind::fiber> all;
    for (int& each : got)
      all.push_back(start<Kind>([&] { EXPECT_EQ(list.wait(each, always), wait_list_end::woken); }));
    for (int i = 1; i <= 3; ++i)
      while (!give(list, i))
        Kind::yield();
    this->join(all);
  });
  EXPECT_EQ(got, (std::vector{1, 2, 3}));
}

KIND_TEST(WaitLists, AllAreWokenInTheOrderInWhichTheyWait) {
  typename Kind::template wait_list<int> list;
  std::vector<int> got(4);
  this->run([&] {
    std::vector<typename Kind::fiber> all;
    for (int& each : got)
      all.push_back(start<Kind>([&] { list.wait(each, always); }));
    int number = 0;
    for (std::size_t woken = 0; woken != got.size(); Kind::yield())
      woken +=
          list.locked([&](auto& waiting) { return waiting.wake_all([&](int& place) { place = ++number; }); });
    this->join(all);
    EXPECT_EQ(number, 4);
  });
  EXPECT_EQ(got, (std::vector{1, 2, 3, 4}));
}

// Its address is not what & returns.
struct request {
  int priority;
  bool granted = false;
  request* operator&() = delete;
};

KIND_TEST(WaitLists, AWakerChoosesAWaiter) {
  typename Kind::template wait_list<request> list;
  std::vector<int> order;
  this->run([&] {
    std::vector<typename Kind::fiber> all;
    for (const int priority : {1, 3, 2})
      all.push_back(start<Kind>([&list, &order, priority] {
        request mine{priority};
        list.wait(mine, [](request&) { return true; });
        EXPECT_TRUE(mine.granted);
        order.push_back(priority);
      }));
    Kind::yield();
    for (const int wanted : {3, 2, 1}) {
      const auto grant = [&](auto& waiting) {
        return waiting.wake_first_if([&](const request& its) { return its.priority == wanted; },
                                     [](request& its) { its.granted = true; });
      };
      while (!list.locked(grant))
        Kind::yield();
      EXPECT_FALSE(list.locked(grant));
      while (order.empty() || order.back() != wanted)
        Kind::sleep_for(100us);
    }
    this->join(all);
  });
  EXPECT_EQ(order, (std::vector{3, 2, 1}));
}

KIND_TEST(WaitLists, FibersWithoutStacksWait) {
  typename Kind::template wait_list<int> list;
  int sum = 0;
  this->run([&] {
    auto waiting = Kind::spawn(become(list.waiting(-1, always), [&](waited<int> end) {
      EXPECT_EQ(end.how, wait_list_end::woken);
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
    int mine = 0;
    EXPECT_EQ(list.wait(mine, takes_seven), wait_list_end::at_once);
    sum += mine;
  });
  EXPECT_EQ(sum, 19);
}

KIND_TEST(WaitLists, WaitersGiveUp) {
  typename Kind::template wait_list<int> list;
  this->run([&] {
    int offer = -1;
    EXPECT_EQ(list.wait_for(offer, always, 1ms), wait_list_end::gave_up);
    EXPECT_EQ(list.wait_until(offer, always, steady::now()), wait_list_end::gave_up);
    EXPECT_EQ(list.wait_until(offer, always, std::chrono::system_clock::now() + 1ms), wait_list_end::gave_up);
    const auto gives_up = [](waited<int> end) {
      EXPECT_EQ(end.how, wait_list_end::gave_up);
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
      try {
        list.wait(mine, always);
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
    this->until_one_waits(list);
    list.locked([&](auto& now) {
      EXPECT_EQ(now.template first_state<counter>(does_not_add), nullptr);
      EXPECT_EQ(now.template first_state<int>(adds), nullptr);
      auto* state = now.template first_state<counter>(adds);
      ASSERT_NE(state, nullptr);
      state->added = 100;
      *now.first() = 20;
      now.wake_first([](int&) {});
    });
    waiting.join();
    EXPECT_EQ(total, 120);
    // One with a stack has no continuation.
    auto stands = start<Kind>([&] {
      int mine = 0;
      list.wait(mine, always);
    });
    this->until_one_waits(list);
    list.locked([&](auto& now) { EXPECT_EQ(now.template first_state<counter>(adds), nullptr); });
    EXPECT_TRUE(give(list, 0));
    stands.join();
    list.locked([&](auto& now) {
      EXPECT_EQ(now.first(), nullptr);
      EXPECT_EQ(now.template first_state<counter>(adds), nullptr);
    });
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
          const wait_list_end how = list.wait(offer, [](int&, auto& waiting) {
            waiting.wake_first([](int& its) { its = 1; });
            return true;
          });
          EXPECT_EQ(how, wait_list_end::woken);
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

// Fibers without stacks hand control to each other, too.
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
    const auto wakes_another = [](int&, auto& waiting) {
      waiting.wake_first([](int& its) { its = 1; });
      return true;
    };
    return become(
        self.list->waiting(0, wakes_another),
        [](passing at, waited<int> end) {
          EXPECT_EQ(end.how, wait_list_end::woken);
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

KIND_TEST(WaitLists, FunctionsMayThrow) {
  typename Kind::template wait_list<int> list;
  this->run([&] {
    auto waiting = start<Kind>([&] {
      int mine = 0;
      EXPECT_EQ(list.wait(mine, always), wait_list_end::woken);
      EXPECT_EQ(mine, 4);
    });
    this->until_one_waits(list);
    const auto wakes_and_throws = [](auto& now) {
      EXPECT_TRUE(now.wake_first([](int& its) { its = 4; }));
      throw std::runtime_error("after a step");
    };
    EXPECT_THROW(list.locked(wakes_and_throws), std::runtime_error);
    waiting.join();
    int mine = 0;
    EXPECT_THROW(list.wait(mine,
                           [&](int&, auto& now) -> bool {
                             EXPECT_TRUE(now.empty());
                             throw std::runtime_error("instead of a wait");
                           }),
                 std::runtime_error);
    EXPECT_TRUE(nobody_waits(list));
  });
}

// A waiter that was woken may destroy the list, and be a thread, or have a deadline that it did not need.
KIND_TEST(WaitLists, AWokenWaiterMayDestroyTheList) {
  using list_type = typename Kind::template wait_list<int>;
  this->run([&] {
    for (int i = 0; i < 200; ++i) {
      std::atomic<list_type*> shown{nullptr};
      auto waiting = Kind::spawn([&, i] {
        auto own = std::make_unique<list_type>();
        int mine = 0;
        const auto shows = [&](int&) {
          shown = own.get();
          return true;
        };
        EXPECT_EQ(i % 2 == 0 ? own->wait(mine, shows) : own->wait_for(mine, shows, 1h), wait_list_end::woken);
        EXPECT_EQ(mine, 2);
      });
      while (shown == nullptr)
        Kind::yield();
      while (!give(*shown.load(), 2))
        Kind::yield();
      waiting.join();
    }
  });
}

// What wakes others in a step does not release this list's waiters before the step has ended.
KIND_TEST(WaitLists, AStepMayUseOtherObjects) {
  using list_type = typename Kind::template wait_list<int>;
  list_type outer;
  list_type inner;
  std::atomic<int> rounds{0};
  this->run_all(
      3,
      [&](int me) {
        constexpr int most = 300;
        int mine = 0;
        if (me == 0)
          for (int i = 0; i < most; ++i) {
            EXPECT_EQ(outer.wait_for(mine, always, 1h), wait_list_end::woken);
            EXPECT_EQ(mine, 2);
            ++rounds;
          }
        else if (me == 1)
          while (rounds != most)
            inner.wait_for(mine, always, 50us);
        else
          while (rounds != most) {
            outer.locked([&](auto& now) {
              now.wake_first([&](int& its) {
                its = 1;
                give(inner, 5);
                its = 2;
              });
            });
            Kind::sleep_for(10us);
          }
      },
      Kind::threads(3));
}

// Fibers and threads, with and without a deadline, take numbers that others give: each arrives once.
KIND_TEST(WaitLists, NothingIsLost) {
  typename Kind::template wait_list<int> list;
  constexpr int each_takes = 200;
  std::atomic<int> given{0};
  std::atomic<int> left{0};
  std::atomic<long> sum{0};
  constexpr int takers = 6;
  this->run_all(
      takers + 2,
      [&](int me) {
        if (me < takers) {
          for (int i = 0; i < each_takes;) {
            int number = 0;
            if (me % 2 == 0)
              EXPECT_EQ(list.wait(number, always), wait_list_end::woken);
            else if (list.wait_for(number, always, std::chrono::microseconds(20 + i % 50 * 20)) ==
                     wait_list_end::gave_up)
              continue;
            sum += number;
            ++i;
          }
          ++left;
          return;
        }
        while (left != takers) {
          if (give(list, 1))
            ++given;
          else  // not a yield: under lifo, fibers that yield could keep the takers waiting
            Kind::sleep_for(10us);
        }
      },
      Kind::threads(2));
  EXPECT_EQ(sum, given);
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
        list.wait(mine, always);
        ADD_FAILURE();
      }).detach();
      this->until_one_waits(list);
    });
  }
  EXPECT_TRUE(nobody_waits(list));
}

// A fiber that was woken, and one that decides whether to wait, may be stopped by the same function.
TEST(LocalWaitLists, AFunctionMayStopAScope) {
  local::runtime().run([] {
    local::wait_list<int> list;
    int woken = 0;
    local::scope members;
    for (int i = 0; i < 4; ++i)
      if (i % 2 == 0)
        members.spawn(become(list.waiting(1, always), [&](waited<int>) { ++woken; }));
      else
        members.spawn([&] {
          int mine = 0;
          list.wait(mine, always);
          ++woken;
        });
    local::this_fiber::yield();
    list.locked([&](auto& now) {
      EXPECT_TRUE(now.wake_first([](int&) {}));
      EXPECT_TRUE(now.wake_first([](int&) {}));
      members.request_stop();
    });
    members.join();
    EXPECT_LE(woken, 2);
    EXPECT_TRUE(nobody_waits(list));

    local::scope stops_itself;
    stops_itself.spawn(become(list.waiting(1,
                                           [&](int&) {
                                             stops_itself.request_stop();
                                             return true;
                                           }),
                              [](waited<int>) { ADD_FAILURE(); }));
    local::this_fiber::yield();
    EXPECT_TRUE(nobody_waits(list));
    stops_itself.join();

    // A waiter whose guard is stopped in the step that is done for it has been woken.
    std::stop_source stop;
    int mine = 0;
    auto guarded = local::spawn([&] {
      const stop_guard guard(stop.get_token());
      EXPECT_EQ(list.wait(mine, always), wait_list_end::woken);
    });
    local::this_fiber::yield();
    list.locked([&](auto& now) {
      EXPECT_TRUE(now.wake_first([&](int& its) {
        its = 8;
        stop.request_stop();
      }));
    });
    guarded.join();
    EXPECT_EQ(mine, 8);
  });
}

#if !defined(NDEBUG)
TEST(WaitListsDeathTest, AFunctionThatUsesItsOwnListEndsTheProgram) {
  sennit::wait_list<int> list;
  EXPECT_DEATH(list.locked([&](auto&) { nobody_waits(list); }), "uses the same wait_list");
  int mine = 0;
  EXPECT_DEATH(sennit::runtime({.workers = 1}).run([&] {
    auto waiting = sennit::spawn([&] { list.wait(mine, always); });
    this_fiber::yield();
    list.locked([&](auto& now) {
      now.wake_first_if([&](const int&) { return now.wake_first([](int&) {}); }, [](int&) {});
    });
    waiting.join();
  }),
               "uses the waiters of the wait_list");
}
TEST(WaitListsDeathTest, AFunctionThatStopsAScopeEndsTheProgram) {
  EXPECT_DEATH(sennit::runtime({.workers = 1}).run([] {
    sennit::wait_list<int> list;
    sennit::scope members;
    members.spawn(become(list.waiting(1, always), [](waited<int>) {}));
    this_fiber::yield();
    list.locked([&](auto&) { members.request_stop(); });
  }),
               "stops a scope in a function that a wait_list calls");
}
TEST(WaitListsDeathTest, AFunctionThatBlocksEndsTheProgram) {
  EXPECT_DEATH(sennit::runtime({.workers = 1}).run([] {
    sennit::wait_list<int> list;
    list.locked([](auto&) { this_fiber::yield(); });
  }),
               "in a function that a wait_list calls with its lock held");
  EXPECT_DEATH(sennit::runtime({.workers = 1}).run([] {
    sennit::wait_list<int> list;
    int mine = 0;
    list.wait(mine, [](int&) {
      sennit::event never;
      never.wait();
      return true;
    });
  }),
               "in a function that a wait_list calls with its lock held");
}
#endif

}  // namespace
}  // namespace sennit
