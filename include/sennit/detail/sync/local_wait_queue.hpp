// The wait queue of the fibers of one local runtime: a state and a list. Only one fiber runs at a time, and a
// fiber is switched away from only where it parks, so no locks and no memory order are needed.
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
#include "sennit/detail/sync/basic_wait_queue.hpp"

namespace sennit::detail {

// Used as described in basic_wait_queue.hpp.
class local_waiters {
public:
  using state = std::uintptr_t;

  constexpr local_waiters() noexcept = default;
  explicit constexpr local_waiters(state initial) noexcept : state_(initial) {}

  SENNIT_INLINE bool change(state from, state to, std::memory_order) noexcept {
    const bool may = state_ == from && list_.empty();
    if (may) [[likely]]
      state_ = to;
    return may;
  }
  state peek(std::memory_order) const noexcept { return state_; }
  bool quiet() const noexcept { return list_.empty(); }

  state lock() const noexcept { return state_; }
  void unlock(state now) noexcept { state_ = now; }
  waiter_list& list() noexcept { return list_; }

private:
  state state_ = 0;
  waiter_list list_;
};

struct local_wakes {
  SENNIT_INLINE static bool take(waiter& w, std::uintptr_t word, fiber*& who) noexcept {
    w.word = word;
    who = static_cast<fiber*>(&w);
    return true;
  }
  SENNIT_INLINE static void deliver(fiber* who) noexcept {
    if (who != nullptr)
      unpark(*who, who->word);
  }
  static void deliver_all(fiber_chain& woken) noexcept {
    while (fiber* f = woken.pop())
      unpark_in_turn(*f, fiber_status::notified);
  }
};

class local_wait_queue : public basic_wait_queue<local_waiters, local_wakes> {
public:
  using basic_wait_queue::basic_wait_queue;
  static constexpr bool is_shared = false;

  class owners {
  public:
    void add() noexcept { ++count_; }
    bool drop() noexcept { return --count_ == 0; }

  private:
    unsigned count_ = 1;
  };

  template <class Decide, class After>
  bool wait(const wait_reason& why, time_point deadline, Decide decide, After after) {
    worker& w = running_worker_for(why.text);
    if (!enter(*w.ready.current, decide))
      return true;
    after();
    return park_until(w, fiber_status::waiting, why.or_of(this), deadline);
  }
  template <class Decide>
  bool wait(const wait_reason& why, time_point deadline, Decide decide) {
    return wait(why, deadline, decide, [] {});
  }

  template <class Decide>
  SENNIT_INLINE bool wait_inline(const wait_reason& why, Decide decide) {
    worker& w = running_worker_for(why.text);
    if (enter(*w.ready.current, decide))
      park(w, fiber_status::waiting, why.or_of(this));
    return true;
  }

  template <class Decide>
  bool file(fiber& f, waiter& me, Decide& decide, const char* reason) noexcept {
    must_be_of_kind(f, false, reason);
    f.flags.status = fiber_status::waiting;
    return enter(me, decide);
  }
  static bool leave(waiter&) noexcept { return true; }  // stop_waiting() has done it
};

}  // namespace sennit::detail
