// sennit::shared_mutex: many readers or one writer: fibers, on any worker of any parallel runtime, and OS
// threads.
// room: sync
//
//   sennit::shared_mutex mutex;
//   std::shared_lock reading(mutex);  // with others who read; blocks the fiber, not its worker
//   ...
//   std::unique_lock writing(mutex);  // alone
#pragma once

#include <cassert>
#include <chrono>

#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// Meets the std SharedTimedLockable requirements. Who unlocks need not be who locked.
//
//   order    Who comes while somebody waits, waits behind it: a waiting writer keeps new readers out, and
//            neither readers nor writers starve. Whoever lets go hands over to who has waited longest: to a
//            writer, or to a reader and all readers right behind it. When a waiting writer gives up, the
//            readers behind it no longer wait for it.
//   cost     Free, or held by readers with nobody waiting: one compare-and-swap to lock and one to unlock.
//   misuse   Asserted: to unlock what is not locked, or not locked in that way; to destroy it while it is
//            locked. To lock it again while holding it, also shared and shared, blocks forever as soon as a
//            writer waits in between. (A fiber of a local runtime blocks its thread.)
//   end      A fiber whose runtime ends while it waits leaves the queue, and does not have the lock.
class shared_mutex {
public:
  constexpr shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  ~shared_mutex() { assert(queue_.peek() == unlocked && "sennit: a locked shared mutex was destroyed"); }

  void lock() {
    if (!queue_.change(unlocked, exclusive, std::memory_order_acquire))
      lock_slow(exclusive, detail::never);
  }
  bool try_lock() noexcept {
    return queue_.change(unlocked, exclusive, std::memory_order_acquire) || try_lock_slow(exclusive);
  }
  // False: the deadline (steady clock) passed first.
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return queue_.change(unlocked, exclusive, std::memory_order_acquire) || lock_slow(exclusive, deadline);
  }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(std::chrono::steady_clock::now() + time);
  }
  void unlock() {
    if (!queue_.change(exclusive, unlocked, std::memory_order_release))
      unlock_slow(exclusive);
  }

  void lock_shared() {
    if (!quickly_share())
      lock_slow(one_reader, detail::never);
  }
  // False also when a writer waits.
  bool try_lock_shared() noexcept { return quickly_share() || try_lock_slow(one_reader); }
  // False: the deadline (steady clock) passed first.
  bool try_lock_shared_until(std::chrono::steady_clock::time_point deadline) {
    return quickly_share() || lock_slow(one_reader, deadline);
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_shared_until(std::chrono::steady_clock::now() + time);
  }
  void unlock_shared() {
    while (queue_.quiet()) {
      const detail::wait_queue::state now = queue_.peek();
      assert(now >= one_reader && "sennit: unlock_shared of a shared mutex that nobody shares");
      if (queue_.change(now, now - one_reader, std::memory_order_release))
        return;
    }
    unlock_slow(one_reader);
  }

private:
  // The state is the sum of what its holders have. Also what a waiter wants, in its word.
  using state = detail::wait_queue::state;
  static constexpr state unlocked = 0;
  static constexpr state exclusive = 2;
  static constexpr state one_reader = 4;

  static bool admits(state now, state wanted) noexcept {
    return now == unlocked || (wanted == one_reader && now != exclusive);
  }
  bool quickly_share() noexcept {
    for (state now = queue_.peek(); now != exclusive && queue_.quiet(); now = queue_.peek())
      if (queue_.change(now, now + one_reader, std::memory_order_acquire))
        return true;
    return false;
  }

  bool try_lock_slow(state wanted) noexcept;
  bool lock_slow(state wanted, detail::time_point deadline);
  void unlock_slow(state held);
  void let_in(detail::wait_queue::guard& hold) noexcept;

  detail::wait_queue queue_;
};

}  // namespace sennit
