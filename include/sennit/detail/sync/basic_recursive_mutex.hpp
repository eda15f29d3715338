// Recursive mutexes over a mutex of either kind.
#pragma once

#include <atomic>
#include <cassert>
#include <chrono>
#include <concepts>
#include <cstddef>

#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sched/wait.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::detail {

template <class Mutex>
class basic_recursive_mutex {
public:
  constexpr basic_recursive_mutex() noexcept = default;
  explicit constexpr basic_recursive_mutex(const wait_options& options) noexcept
    requires std::constructible_from<Mutex, const wait_options&>
      : mutex_(options) {}

  void lock() {
    if (!lock_again()) {
      mutex_.lock();
      own();
    }
  }
  bool try_lock() noexcept { return lock_again() || (mutex_.try_lock() && own()); }
  // False: the deadline (steady clock) passed first.
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return lock_again() || (mutex_.try_lock_until(deadline) && own());
  }
  // Takes a time of any clock.
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
    return wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return try_lock_until(deadline); });
  }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(deadline_after(time));
  }

  void unlock() {
    assert(is_mine() && "sennit: unlock of a recursive mutex by another than its owner");
    if (--depth_ == 0) {
      owner_.store(nullptr, std::memory_order_relaxed);
      mutex_.unlock();
    }
  }

private:
  // Only the caller itself can have written its own name, so that no order is needed to read it. (Where all
  // are on one thread the atomic costs nothing: it is read and written as any other variable.)
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == caller(); }
  bool lock_again() noexcept {
    const bool mine = is_mine();
    if (mine)
      ++depth_;
    return mine;
  }
  bool own() noexcept {
    owner_.store(caller(), std::memory_order_relaxed);
    depth_ = 1;
    return true;
  }

  Mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
  std::size_t depth_ = 0;  // the owner's
};

}  // namespace sennit::detail
