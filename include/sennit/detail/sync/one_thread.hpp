// The policy of objects that only the fibers of one local runtime wait for. Only one fiber runs at a time,
// and a fiber is switched away from only where it parks, so no locks and no memory order are needed. What a
// policy provides: basic_wait_queue.hpp.
//
// A waiter that gives up, at its deadline or because it is stopped, has been taken off the list before it
// runs again (stop_waiting): there is nothing to undo.
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/worker.hpp"
#include "sennit/detail/sync/lock_header.hpp"
#include "sennit/detail/wait/wait.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::inline v0_1::detail {

// The state of a wait queue, and its list. As in low_lock_waiters one word holds all that the fast paths
// need:
//
//   bit 0       marked: there are waiters, or the last one has left since the state was changed
//   bits 1...   the object's state
class marked_waiters {
public:
  using state = std::uintptr_t;

  constexpr marked_waiters() noexcept = default;
  explicit constexpr marked_waiters(state initial) noexcept : word_(initial << 1) {}

  SENNIT_INLINE bool change_quickly(state from, state to, std::memory_order) noexcept {
    if (word_ != from << 1) [[unlikely]]
      return false;
    word_ = to << 1;
    return true;
  }
  SENNIT_INLINE bool change(state from, state to, std::memory_order) noexcept {
    if (word_ != from << 1) [[unlikely]]
      return change_marked(from, to);
    word_ = to << 1;
    return true;
  }
  state peek(std::memory_order) const noexcept { return word_ >> 1; }
  bool quiet() const noexcept { return list_.empty(); }

  state lock() const noexcept { return word_ >> 1; }
  SENNIT_INLINE void unlock(state now, bool changed) noexcept {
    if (changed)
      word_ = now << 1 | (list_.empty() ? 0 : 1);
  }
  waiter_list& list() noexcept { return list_; }
  void push(waiter& w) noexcept {
    list_push_back(list_, w);
    word_ |= 1;
  }

private:
  // Not gnu::cold: gcc 12 would move the rest of a condition variable's wait into its cold section, too.
  [[gnu::noinline]] bool change_marked(state from, state to) noexcept {
    const bool may = list_.empty() && word_ >> 1 == from;
    if (may)
      word_ = to << 1;
    return may;
  }

  state word_ = 0;
  waiter_list list_;
};

// It cannot be biased, and need not be.
struct marked_lock_waiters : lock_header, marked_waiters {
  constexpr explicit marked_lock_waiters(const wait_options& how, state initial = 0) noexcept
      : lock_header(how), marked_waiters(initial) {}
};

struct no_lock {
  void lock() noexcept {}
  void unlock() noexcept {}
};

struct one_thread {
  static constexpr bool is_shared = false;
  static constexpr bool direct = true;
  // Fairness costs nothing: no other fiber runs at the same time.
  static constexpr wait_options for_mutex{.fairness = fairness::fair};
  using waiters = marked_waiters;
  using lock_waiters = marked_lock_waiters;
  using lock = no_lock;
  using channel_lock = no_lock;
  using semaphore_waiters = marked_waiters;

  class owners {
  public:
    void add() noexcept { ++count_; }
    bool drop() noexcept { return --count_ == 0; }

  private:
    unsigned count_ = 1;
  };

  static void caller_may_wait(const char* what) noexcept { running_worker_for(what); }
  template <class Place, class Enter, class GaveUp>
  SENNIT_INLINE static wait_result wait_in(const Place&, const wait_reason& why, time_point deadline,
                                           const Enter& enter, const GaveUp&) {
    worker& w = running_worker(why.text);
    fiber* next = nullptr;
    if (!enter(*w.ready.current, next))
      return {true};
    if (deadline == never)
      return {true, park(w, fiber_status::waiting, why, next)};
    if (next != nullptr)
      unpark(*next, 0);
    const bool served = park_until(w, fiber_status::waiting, why, deadline);
    return {served, served ? current_fiber().word : 0};
  }
  template <class Place, class Enter>
  SENNIT_INLINE static bool wait_inline_in(const Place& place, const wait_reason& why, const Enter& enter) {
    wait_in(place, why, never, enter, nullptr);
    return true;
  }
  static void prepare(fiber& f, const char* reason) noexcept {
    must_be_of_kind(f, false, reason);
    f.flags.status = fiber_status::waiting;
  }
  static bool leave(waiter&) noexcept { return true; }  // stop_waiting() has done it
  static bool stands(const waiter& w) noexcept { return w.flags.status == fiber_status::waiting; }

  SENNIT_INLINE static bool take(waiter& w, std::uintptr_t word, fiber*& who) noexcept {
    if (w.flags.kind != waiter_kind::fiber) [[unlikely]] {
      fiber* claimed = nullptr;  // not `who`, so that `who` can stay in a register
      const bool taken = take_waiter(w, word, claimed);
      who = claimed;
      return taken;
    }
    w.word = word;
    who = static_cast<fiber*>(&w);
    return true;
  }
  SENNIT_INLINE static void make_ready(fiber* who) {
    if (who != nullptr) [[likely]]
      unpark(*who);
  }
  static void release_taken() noexcept {}
  static void wake_back(fiber& who) { unpark_back(who, fiber_status::notified); }
  static void make_all_ready(fiber_chain& woken) noexcept;
  static void make_ready_and_enter(fiber* who);
};

}  // namespace sennit::inline v0_1::detail
