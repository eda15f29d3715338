// The faults that the checker finds, and its reports: races, deadlocks, lost wakes, livelocks, ABA.
#include <optional>
#include <sstream>
#include <utility>

#include "model.hpp"

namespace {

using model::atomic;
using model::gate;
using model::plain;
using enum std::memory_order;

TEST(checker, finds_a_race_without_running_it_in_both_orders) {
  for (const bool writes : {true, false}) {
    const model::report r = model::explore("race", {.bound = 0}, [=](model::run& run) {
      plain<int> x{0};
      run.thread([&] { x = 1; });
      run.thread([&] {
        if (writes)
          x = 2;
        else
          MODEL_CHECK(x < 2);
      });
      run.join();
    });
    EXPECT_TRUE(r.failed);
    EXPECT_TRUE(r.failure.starts_with("data race")) << r;
  }
}

TEST(checker, finds_no_race_where_a_lock_orders) {
  const model::report r = model::explore("spinlock", {.bound = 100}, [](model::run& run) {
    atomic<bool> locked{false};
    plain<int> x{0};
    for (int i = 0; i < 2; ++i)
      run.thread([&] {
        while (locked.exchange(true, acquire))
          while (locked.load(relaxed))
            model::memory::yield_thread();
        x = x + 1;
        locked.store(false, release);
      });
    run.join();
    MODEL_CHECK(x == 2);
  });
  EXPECT_FALSE(r.failed) << r;
  EXPECT_TRUE(r.complete);
}

// The third thread must come between two operations of the first, and the second between its own.
TEST(checker, bounds_preemptions) {
  const auto needs_two = [](model::run& run) {
    atomic<int> x{0};
    run.thread([&] {
      const int a = x.load(relaxed);
      const int b = x.load(relaxed);
      const int c = x.load(relaxed);
      MODEL_CHECK(!(a == 0 && b == 1 && c == 2));
    });
    run.thread([&] { x.fetch_add(1, relaxed); });
    run.thread([&] {
      if (x.load(relaxed) == 1)
        x.fetch_add(1, relaxed);
    });
    run.join();
  };
  unsigned needed = 0;
  while (needed < 5 && !model::explore("between", {.bound = needed}, needs_two).failed)
    ++needed;
  EXPECT_EQ(needed, 0U);  // old stores are read without any switch
  const auto latest_alone = [](model::run& run) {
    atomic<int> x{0};
    run.thread([&] {
      const int a = x.fetch_add(0, relaxed);
      const int b = x.fetch_add(0, relaxed);
      const int c = x.fetch_add(0, relaxed);
      MODEL_CHECK(!(a == 0 && b == 1 && c == 2));
    });
    run.thread([&] { x.fetch_add(1, relaxed); });
    run.thread([&] { x.fetch_add(1, relaxed); });
    run.join();
  };
  const model::report one = model::explore("between, latest alone", {.bound = 1}, latest_alone);
  EXPECT_FALSE(one.failed) << one;
  EXPECT_FALSE(one.complete);
  EXPECT_TRUE(model::explore("between, latest alone", {.bound = 2}, latest_alone).failed);
}

// A sleeper that does not look again after it has announced its wait is missed by a waker that looked before.
model::report sleeper(const char* name, bool looks_again, const std::string& replay = {}) {
  return model::explore(name, {.bound = 100, .replay = replay}, [=](model::run& run) {
    atomic<bool> work{false};
    atomic<bool> sleeping{false};
    gate door;
    run.thread([&] {
      if (work.load(relaxed))
        return;
      sleeping.store(true, seq_cst);
      if (!looks_again || !work.load(seq_cst))
        door.wait();
    });
    run.thread([&] {
      work.store(true, seq_cst);
      if (sleeping.load(seq_cst))
        door.signal();
    });
    run.join();
  });
}

TEST(checker, finds_a_lost_wake) {
  EXPECT_FALSE(sleeper("sleeper that looks again", true).failed);
  const model::report r = sleeper("sleeper that does not", false);
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.starts_with("deadlock: thread 1 waits at checker_test.cpp:")) << r;
}

// A wait that is long enough is not over before a signal that comes; a short one may be.
TEST(checker, time_passes_in_a_wait) {
  const auto waits = [](model::patience until, bool signalled) {
    return model::explore("wait with an end", {.quiet = true}, [=](model::run& run) {
      model::gate gate;
      atomic<int> x{0};
      run.thread([&] {
        const bool woken = gate.wait(until);
        MODEL_CHECK(woken == signalled);
        MODEL_CHECK(x.load(relaxed) == 1);
      });
      run.thread([&] {
        x.store(1, relaxed);
        if (signalled)
          gate.signal();
      });
      run.join();
    });
  };
  for (const bool signalled : {false, true}) {
    const model::report r = waits(model::patience::long_enough, signalled);
    EXPECT_FALSE(r.failed) << r;
    EXPECT_TRUE(waits(model::patience::short_enough, signalled).failed);
  }
}

TEST(checker, replays_a_failure) {
  const model::report r = sleeper("sleeper that does not look again", false);
  ASSERT_TRUE(r.failed);
  ASSERT_FALSE(r.choices.empty());
  const model::report again = sleeper("", false, r.choices);
  EXPECT_EQ(again.executions, 1U);
  EXPECT_EQ(again.failure, r.failure);
  EXPECT_EQ(again.trace, r.trace);
}

TEST(checker, traces_are_read_line_by_line) {
  const model::report r = model::explore("trace", {}, [](model::run& run) {
    atomic<int> x{3};
    run.thread([&] {
      x.store(4, release);
      MODEL_CHECK(x.fetch_add(1, relaxed) == 5);
    });
    run.join();
  });
  EXPECT_NE(r.trace.find("thread 1  checker_test.cpp:"), std::string::npos) << r;
  EXPECT_NE(r.trace.find("store release of atomic 0: writes 4 (store 1)\n"), std::string::npos) << r;
  EXPECT_NE(r.trace.find("update relaxed of atomic 0: reads 4 (store 1) writes 5 (store 2)\n"),
            std::string::npos)
      << r;
  EXPECT_NE(r.trace.find("assertion: x.fetch_add(1, relaxed) == 5, line"), std::string::npos) << r;
}

TEST(checker, finds_deadlock_between_locks) {
  const auto take = [](atomic<bool>& lock) {
    while (lock.exchange(true, acquire))
      while (lock.load(relaxed))
        model::memory::yield_thread();
  };
  const model::report r = model::explore("two locks", {}, [&](model::run& run) {
    atomic<bool> one{false};
    atomic<bool> other{false};
    run.thread([&] {
      take(one);
      take(other);
      other.store(false, release);
      one.store(false, release);
    });
    run.thread([&] {
      take(other);
      take(one);
      one.store(false, release);
      other.store(false, release);
    });
    run.join();
  });
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.starts_with("deadlock: thread 1 spins at")) << r;
}

// The receiver of the last access may destroy the object; after an earlier access it must not yet.
TEST(checker, finds_an_atomic_that_ends_too_early) {
  for (const bool looks_again : {false, true}) {
    const model::report r = model::explore("end of an atomic", {}, [=](model::run& run) {
      std::optional<atomic<int>> word(std::in_place, 0);
      run.thread([&] {
        word->store(1, release);
        if (looks_again)
          word->load(relaxed);
      });
      run.thread([&] {
        if (word->load(acquire) == 1)
          word.reset();
      });
      run.join();
    });
    EXPECT_EQ(r.failed, looks_again) << r;
    EXPECT_EQ(r.failure.find("destroyed") != std::string::npos, looks_again) << r;
  }
}

TEST(checker, finds_a_livelock) {
  const model::report r = model::explore("livelock", {}, [](model::run& run) {
    atomic<int> x{0};
    run.thread([&] {
      while (x.load(relaxed) == 0) {
      }
    });
    run.join();
  });
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.starts_with("livelock")) << r;
}

// A stack of nodes that are used again: without a count beside the head, a pop may take a head that came back
// with another successor.
template <bool Counted>
class treiber_stack {
public:
  struct node {
    atomic<unsigned> next{0};
    plain<int> owners{0};
  };
  static constexpr unsigned none = 0xff;

  explicit treiber_stack(unsigned count) {
    for (unsigned n = 0; n < count; ++n)
      push(n);
  }
  void push(unsigned n) {
    unsigned top = head_.load(relaxed);
    do
      nodes_[n].next.store(top & 0xff, relaxed);
    while (!head_.compare_exchange_weak(top, changed(top, n), release, relaxed));
  }
  unsigned pop() {
    unsigned top = head_.load(acquire);
    while ((top & 0xff) != none) {
      const unsigned next = nodes_[top & 0xff].next.load(relaxed);
      if (head_.compare_exchange_weak(top, changed(top, next), acquire, acquire))
        break;
    }
    return top & 0xff;
  }
  node& at(unsigned n) { return nodes_[n]; }

private:
  static unsigned changed(unsigned top, unsigned n) { return Counted ? ((top & ~0xffU) + 0x100) | n : n; }
  node nodes_[3];
  atomic<unsigned> head_{none};
};

template <bool Counted>
auto reuse() {
  return [](model::run& run) {
    treiber_stack<Counted> stack(3);
    const auto use = [&](unsigned n) {
      if (n == stack.none)
        return;
      MODEL_CHECK(stack.at(n).owners == 0);
      stack.at(n).owners = 1;
    };
    const auto give_back = [&](unsigned n) {
      if (n == stack.none)
        return;
      stack.at(n).owners = 0;
      stack.push(n);
    };
    run.thread([&] { use(stack.pop()); });
    run.thread([&] {
      const unsigned first = stack.pop();
      use(first);
      use(stack.pop());
      give_back(first);
    });
    run.join();
    use(stack.pop());
    use(stack.pop());
  };
}

TEST(checker, finds_aba) {
  const model::report counted = model::explore("Treiber stack, counted", {.bound = 3}, reuse<true>());
  EXPECT_FALSE(counted.failed) << counted;
  const model::report r = model::explore("Treiber stack, ABA", {.bound = 3}, reuse<false>());
  EXPECT_TRUE(r.failed);
}

// The exchange that pops needs no order of its own: the load before it has seen all that it must see.
TEST(checker, finds_weakened_orders) {
  const model::weakened w =
      model::weaken_each("Treiber stack, counted", "checker_test.cpp", {.bound = 2}, reuse<true>());
  EXPECT_FALSE(w.correct.failed);
  EXPECT_EQ(w.tried, 4U);
  EXPECT_EQ(w.survivors, std::vector<std::string>{"update: acquire -> relaxed"});
}

}  // namespace
