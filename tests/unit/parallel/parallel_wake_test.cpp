// Wakes make no system call unless a worker sleeps: all that the workers' threads make are counted.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/event.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "support/busy_workers.hpp"
#include "support/child.hpp"
#include "support/counted_calls.hpp"

// Sanitizers make calls of their own, and so do switches without assembly.
#if defined(__x86_64__) && !defined(SUPPORT_ASAN) && !defined(SUPPORT_TSAN) && \
    !defined(SENNIT_BACKEND_PORTABLE)

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using support::counted_calls;
using support::in_child;

// Two fibers that wake each other, of which each has its side.
struct couple {
  virtual ~couple() = default;
  virtual void rounds(int side, int count) = 0;
  fiber members[2];
};

struct by_unpark : couple {
  std::atomic<int> turn{0};
  void rounds(int side, int count) override {
    for (int i = 0; i < count; ++i) {
      while (turn != side)
        this_fiber::park();
      turn = 1 - side;
      members[1 - side].unpark();
    }
  }
};

struct by_mutex : couple {
  mutex lock;
  void rounds(int, int count) override {
    for (int i = 0; i < count; ++i) {
      const std::lock_guard hold(lock);
      this_fiber::yield();  // the other one comes to wait
    }
  }
};

struct by_condition : couple {
  mutex lock;
  condition_variable changed;
  int turn = 0;
  void rounds(int side, int count) override {
    for (int i = 0; i < count; ++i) {
      std::unique_lock hold(lock);
      changed.wait(hold, [&] { return turn == side; });
      turn = 1 - side;
      changed.notify_one();
    }
  }
};

struct by_channel : couple {
  channel<int> items;
  void rounds(int side, int count) override {
    for (int i = 0; i < count; ++i)
      if (side == 0)
        items.send(i);
      else
        EXPECT_EQ(items.receive(), i);
  }
};

struct by_event : couple {
  event turns[2];
  void rounds(int side, int count) override {
    for (int i = 0; i < count; ++i) {
      if (side == 1 || i != 0)
        turns[side].wait();
      turns[side].reset();
      turns[1 - side].set();
    }
  }
};

class Wakes {
public:
  explicit Wakes(unsigned workers) : workers_(workers) {}

  // Couples of every kind, which begin there.
  void add(const spawn_options& first, const spawn_options& second, int count) {
    const auto add_one = [&](std::unique_ptr<couple> each) {
      for (const int side : {0, 1})
        each->members[side] = rt_.spawn(
            [this, it = each.get(), side, count] {
              pass_gate();
              it->rounds(side, count);
              ++done_;
              yield_until(over_);
            },
            side == 0 ? first : second);
      waited_for_ += 2;
      couples_.push_back(std::move(each));
    };
    add_one(std::make_unique<by_unpark>());
    add_one(std::make_unique<by_mutex>());
    add_one(std::make_unique<by_condition>());
    add_one(std::make_unique<by_channel>());
    add_one(std::make_unique<by_event>());
  }

  // A thread that is no worker wakes a fiber.
  void add_thread(int count) {
    parks_ = rt_.spawn(
        [this] {
          pass_gate();
          while (!over_)
            this_fiber::park();
        },
        {.near = 0});
    ++waited_for_;
    std::thread([this, count] {
      EXPECT_TRUE(counted_calls::begin_on_this_thread());
      ++ready_;
      while (!begin_) {
      }
      for (int i = 0; i < count; ++i)
        parks_.unpark();
      ++done_;
      while (!counted_) {
      }
      for (;;)
        ::pause();
    }).detach();
  }

  // Makes the workers busy, lets all that was added go, and says what calls were made meanwhile.
  void run() {
    for (unsigned i = 0; i < workers_; ++i)
      busy_.push_back(rt_.spawn(
          [this] {
            // As if it had just been seen to that no other worker is stuck, which may take a call.
            detail::running_parallel().last_watch = detail::never;
            EXPECT_TRUE(counted_calls::begin_on_this_thread());
            pass_gate();
            yield_until(over_);
          },
          {.pinned = i}));
    const bool has_thread = parks_.joinable();
    support::spin_until(
        [&] { return ready_ == static_cast<int>(workers_) + waited_for_ + (has_thread ? 1 : 0); });
    counted_calls calls;
    begin_ = true;
    support::spin_until([&] { return done_ == waited_for_; });
    calls.stop();
    counted_ = true;
    EXPECT_EQ(calls.all_but(workers_ == 1 ? -1 : SYS_sched_yield), "");  // a waiter for a spin lock yields
  }

private:
  static void yield_until(const std::atomic<bool>& condition) {
    while (!condition)
      this_fiber::yield();
  }
  void pass_gate() {
    ++ready_;
    yield_until(begin_);
  }

  // Never destroyed: a counted thread must not end.
  const unsigned workers_;
  runtime& rt_ = *new runtime({.workers = workers_});
  std::atomic<int> ready_{0};
  std::atomic<int> done_{0};
  int waited_for_ = 0;
  std::atomic<bool> begin_{false};
  std::atomic<bool> counted_{false};
  std::atomic<bool> over_{false};
  std::vector<std::unique_ptr<couple>> couples_;
  std::vector<fiber> busy_;
  fiber parks_;
};

// Where the clock itself is a system call, every look at it would be counted.
bool has_clock() {
  return in_child([] {
           EXPECT_TRUE(counted_calls::begin_on_this_thread());
           const counted_calls calls;
           detail::clock::now();
           EXPECT_EQ(calls.all_but(), "");
         })
      .exited(0);
}

class ParallelWake : public testing::Test {
protected:
  void SetUp() override {
    if (!support::has_seccomp() || !has_clock())
      GTEST_SKIP() << "no seccomp here, or no clock without a call";
  }
};

TEST_F(ParallelWake, MakesNoSystemCallOnALoneWorker) {
  const auto child = in_child([] {
    auto& wakes = *new Wakes(1);
    wakes.add({}, {}, 10'000);
    wakes.run();
  });
  EXPECT_TRUE(child.exited(0)) << child;
}

TEST_F(ParallelWake, MakesNoSystemCallWhileAllWorkersAreBusy) {
  const auto child = in_child([] {
    auto& wakes = *new Wakes(2);
    for (const unsigned at : {0u, 1u})
      wakes.add({.near = at}, {.near = at}, 5'000);
    wakes.add({.near = 0}, {.near = 1}, 5'000);
    wakes.add({.pinned = 0}, {.pinned = 0}, 5'000);
    wakes.add({.pinned = 0}, {.pinned = 1}, 100);  // each waits for the other processor, or for its own
    wakes.add_thread(10'000);
    wakes.run();
  });
  EXPECT_TRUE(child.exited(0)) << child;
}

// The call that the others have not made.
TEST_F(ParallelWake, MakesASystemCallForASleeper) {
  const auto child = in_child([] {
    auto& rt = *new runtime({.workers = 2});
    auto& parked = *new std::vector<fiber>;
    std::atomic<int> waiting{0};
    const auto parks = [&] {
      for (;;) {
        ++waiting;
        this_fiber::park();
      }
    };
    std::atomic<bool> over{false};
    const auto wakes = [&] {
      EXPECT_TRUE(counted_calls::begin_on_this_thread());
      const detail::sleepers<>& asleep = detail::running_parallel().runtime.asleep;
      // The sleeper wakes by itself now and then, to look, and may do so just when it is about to be woken.
      const auto calls_for = [&](std::size_t first, std::size_t count) {
        const auto end = std::chrono::steady_clock::now() + 10s;
        for (;;) {
          while (waiting != 6 || !asleep.sleeps(1))
            this_fiber::yield();
          counted_calls calls;
          for (std::size_t i = first; i < first + count; ++i) {
            --waiting;
            parked[i].unpark();
          }
          calls.stop();
          if (calls.of(SYS_write) != 0 || std::chrono::steady_clock::now() > end)
            return calls.of(SYS_write);
        }
      };
      EXPECT_GT(calls_for(0, 5), 0);  // more are ready than it can run at once
      EXPECT_GT(calls_for(5, 1), 0);  // it is pinned there
      over = true;
    };
    for (int i = 0; i < 6; ++i)
      parked.push_back(rt.spawn(parks, i == 5 ? spawn_options{.pinned = 1} : spawn_options{}));
    rt.spawn(wakes, {.pinned = 0}).detach();
    support::spin_until([&] { return over.load(); });
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? support::test_failed : 0);  // before what is here is gone
  });
  EXPECT_TRUE(child.exited(0)) << child;
}

}  // namespace

#endif
