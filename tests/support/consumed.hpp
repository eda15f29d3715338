// What a wait has consumed when it was cancelled or timed out: the tests of the rows of the table in
// docs/explanation/waits.md. scripts/check_docs compares the rows' names with that table.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"

namespace sennit {

enum class wait_end { served, timed_out, cancelled };
using deadline_type = std::chrono::steady_clock::time_point;

// One wait for one thing, all of it new.
template <class Kind>
struct consumed_row {
  // Waits. Returns false if the deadline passed first.
  std::function<bool(deadline_type)> wait;
  // Provides, without waiting, what is waited for. `waiter`: its handle; null: it is an OS thread.
  std::function<void(typename Kind::fiber* waiter)> give;
  // When both are done: checks what has been consumed.
  std::function<void(wait_end)> check;
  // When the wait has ended unserved, before give().
  std::function<void()> before_give = [] {};
  // In the waiter, when its wait has ended unserved, after give().
  std::function<void()> waiter_after_give = [] {};
  // When the waiter waits: begins another wait behind it.
  std::function<void()> wait_behind = [] {};
};

enum class takes : bool { nothing, deadline };
enum class waiters : bool { fibers, any };

template <class Kind>
struct named_row {
  const char* name;
  takes time;
  waiters who;
  std::function<consumed_row<Kind>()> make;
};

// Runs the waiter of a row, and notes how its wait ended.
template <class Kind>
class consumed_waiter {
public:
  consumed_waiter(consumed_row<Kind>& row, deadline_type deadline) : row_(row), deadline_(deadline) {}
  void operator()() {
    end_ = run();
    ended_.set();
    if (end_ == wait_end::served)
      return;
    given_.wait();
    row_.waiter_after_give();
  }
  void request_stop() { stop_.request_stop(); }
  void give(typename Kind::fiber* handle) {
    row_.give(handle);
    given_.set();
  }
  void until_ended() { ended_.wait(); }
  wait_end end() const { return end_; }

private:
  wait_end run() {
    try {
      const stop_guard guard(stop_.get_token());
      return row_.wait(deadline_) ? wait_end::served : wait_end::timed_out;
    } catch (const cancelled&) {
      return wait_end::cancelled;
    }
  }

  consumed_row<Kind>& row_;
  const deadline_type deadline_;
  std::stop_source stop_;
  typename Kind::event ended_;
  typename Kind::event given_;
  wait_end end_ = wait_end::served;
};

// The wait has ended before anything is given. In a fiber.
template <class Kind>
void check_unserved(const named_row<Kind>& named, wait_end expected) {
  consumed_row<Kind> row = named.make();
  const bool by_time = expected == wait_end::timed_out;
  consumed_waiter<Kind> waiter(
      row, by_time ? std::chrono::steady_clock::now() + std::chrono::microseconds(200) : detail::never);
  auto fiber = start<Kind>(std::ref(waiter));
  row.wait_behind();
  if (!by_time)
    waiter.request_stop();
  waiter.until_ended();
  EXPECT_EQ(waiter.end(), expected);
  row.before_give();
  waiter.give(&fiber);
  fiber.join();
  row.check(waiter.end());
}

// What is waited for and the stop, or the deadline, meet. In a fiber.
template <class Kind>
void check_race(const named_row<Kind>& named, wait_end other, int round) {
  consumed_row<Kind> row = named.make();
  const bool by_time = other == wait_end::timed_out;
  consumed_waiter<Kind> waiter(
      row, by_time ? std::chrono::steady_clock::now() + std::chrono::microseconds(round) : detail::never);
  typename Kind::fiber fiber;
  std::optional<std::thread> thread;
  if (named.who == waiters::any && Kind::threads(1) != 0 && round % 3 == 0)
    thread.emplace(std::ref(waiter));
  else
    fiber = round % 3 == 1 ? Kind::spawn(std::ref(waiter)) : start<Kind>(std::ref(waiter));
  row.wait_behind();
  std::atomic<bool> go = false;
  std::optional<std::thread> stopper;
  if (!by_time)
    stopper.emplace([&] {
      while (!go)
        std::this_thread::yield();
      waiter.request_stop();
    });
  go = true;
  if (round % 2 == 0)
    Kind::yield();
  waiter.give(thread ? nullptr : &fiber);
  if (thread)
    thread->join();
  else
    fiber.join();
  if (stopper)
    stopper->join();
  row.check(waiter.end());
}

// Tests a row in each way. In a fiber.
template <class Kind>
void check_consumed(const named_row<Kind>& row, int rounds) {
  SCOPED_TRACE(row.name);
  check_unserved(row, wait_end::cancelled);
  if (row.time == takes::deadline)
    check_unserved(row, wait_end::timed_out);
  for (int round = 0; round < rounds; ++round) {
    check_race(row, wait_end::cancelled, round);
    if (row.time == takes::deadline)
      check_race(row, wait_end::timed_out, round);
  }
}

}  // namespace sennit
