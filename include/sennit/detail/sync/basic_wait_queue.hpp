// Wait queues: the waiters of an object, and the object's state, which decides whether a caller must wait.
//
// Each synchronization type is a template over a policy. The policy decides which fibers and threads may
// wait, and the algorithm is written once:
//
//   any_thread   fibers of any worker, and OS threads (any_thread.hpp)
//   one_thread   the fibers of one local runtime, without atomics (one_thread.hpp)
//
// An algorithm must be correct for any_thread: between two calls another thread may change anything. The last
// access to the object comes before any waiter is made ready, because a woken waiter may destroy the object.
//
// A policy has these members. "Locked" means: call it with the object's lock held.
//
//   is_shared                other threads may interfere between two calls
//   direct                   a waiter can enter the fiber that it wakes at once (ports)
//   for_mutex                the options of a mutex
//   waiters                  the state and the list: change(), change_quickly(), peek() and quiet() as below,
//                            lock(), unlock(); locked: list(), push(waiter)
//   lock_waiters             the same with options and an owner, for a mutex or a condition variable. The
//                            parallel one may be biased towards a worker (biased_waiters.hpp)
//   semaphore_waiters        like waiters, for a semaphore. It may be biased (biased.hpp)
//   lock                     the lock of an object with more than one list (wait_lists.hpp)
//   channel_lock             that of a channel. It may be biased (biased.hpp)
//   owners                   counts the owners of an object that lives as long as one of them: begins with 1;
//                            drop() returns true for the last owner
//   caller_may_wait(what)    ends the program if the caller cannot wait
//   wait_in()                waits (sched/wait.hpp)
//   wait_inline_in()         waits without a deadline, inlined in the caller: a call that switches fibers
//                            makes the processor mispredict its return. Returns false if the caller cannot
//                            wait in this way, and must use wait_in()
//   prepare(fiber, reason)   a fiber without a stack is about to enter a list
//   leave(waiter)            locked: takes a waiter off its list; returns false if a waker has taken it
//   stands(waiter)           locked, for a waiter that was not taken: returns whether it still waits
//   take(waiter, word, who&) locked: ends the wait of a waiter that was taken off a list. Returns false if it
//                            had stopped waiting. `who` is the fiber to ready, or null
//   make_ready(who)          not locked: readies that fiber; null: release_taken()
//   release_taken()          not locked: releases the taken waiters that continue by themselves
//   make_all_ready(chain)    not locked: readies fibers in the order in which they waited
//   wake_back(fiber)         (if not is_shared) readies a taken fiber, after all others that are ready
//   make_ready_and_enter(who) like make_ready(), but the calling fiber yields to the woken fiber
#pragma once

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/timer/deadline.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::inline v0_1::detail {

template <class Policy, class Waiters = typename Policy::waiters>
class basic_wait_queue {
  using kept = Waiters;

public:
  using state = std::uintptr_t;

  constexpr basic_wait_queue() noexcept = default;
  explicit constexpr basic_wait_queue(state initial) noexcept : kept_(initial) {}
  // With options (Policy::lock_waiters).
  explicit constexpr basic_wait_queue(const wait_options& how, state initial = 0) noexcept
      : kept_(how, initial) {}
  basic_wait_queue(const basic_wait_queue&) = delete;
  basic_wait_queue& operator=(const basic_wait_queue&) = delete;
  ~basic_wait_queue() {
    assert(quiet() && "sennit: an object was destroyed while a fiber or a thread waits for it");
  }

  // ---- Without the lock.

  // Changes the state, if it is `from` and there are no waiters.
  SENNIT_INLINE bool change(state from, state to, std::memory_order order) noexcept {
    return kept_.change(from, to, order);
  }
  // Like change(), but after a waiter has given up it may fail until the state is changed under the lock. If
  // it fails, the caller takes the lock.
  SENNIT_INLINE bool change_quickly(state from, state to, std::memory_order order) noexcept {
    return kept_.change_quickly(from, to, order);
  }
  state peek(std::memory_order order = std::memory_order_relaxed) const noexcept { return kept_.peek(order); }
  // Returns true if there are no waiters and no fiber or thread is about to become one.
  bool quiet() const noexcept { return kept_.quiet(); }
  // For what they hold beside the state and the list.
  kept& waiters() noexcept { return kept_; }
  const kept& waiters() const noexcept { return kept_; }

  // ---- With the lock. It must be held briefly: the holder must not block, nor call the functions above.

  class guard {
  public:
    SENNIT_INLINE explicit guard(basic_wait_queue& queue) noexcept
        : kept_(queue.kept_), state_(kept_.lock()) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    SENNIT_INLINE ~guard() {
      if (!unlocked_)
        unlock();
    }
    SENNIT_INLINE void unlock() noexcept {
      unlocked_ = true;
      kept_.unlock(state_, changed_);
    }

    state get() const noexcept { return state_; }
    void set(state to) noexcept {
      changed_ |= to != state_;
      state_ = to;
    }
    bool empty() const noexcept { return kept_.list().empty(); }
    void push(waiter& w) noexcept { kept_.push(w); }
    // Takes the waiter that has waited longest, or that came last, and gives it a word. Returns false if
    // there is no waiter.
    SENNIT_INLINE bool pop(std::uintptr_t word, fiber*& who, bool newest = false) noexcept {
      while (!empty())
        if (take(newest ? *kept_.list().previous : *kept_.list().next, word, who)) [[likely]]
          return true;
      return false;
    }
    // The word that the longest waiter set when it entered. Precondition: there is a waiter.
    std::uintptr_t first_word() const noexcept { return static_cast<waiter&>(*kept_.list().next).word; }
    // Takes the longest waiter, and gives it a word. Returns false if it had stopped waiting.
    bool pop_first(std::uintptr_t word, fiber*& who) noexcept { return take(*kept_.list().next, word, who); }

  private:
    SENNIT_INLINE static bool take(wait_node& node, std::uintptr_t word, fiber*& who) noexcept {
      node.leave_list();
      return Policy::take(static_cast<waiter&>(node), word, who);
    }

    kept& kept_;
    state state_;
    bool changed_ = false;
    bool unlocked_ = false;
  };

  // ---- Waiting.

  // Waits, unless `decide(state&)`, called under the lock, returns true. A `decide(guard&, waiter&)` may also
  // look at the queue, and set the waiter's word to an even number. Returns false if the deadline passed
  // first. If the wait is stopped, it throws, and the caller has left the queue; it throws forced_unwind when
  // the runtime ends. If `why` names no object, the object is the queue. `after()` is called when the caller
  // is in the queue, from where it may already have been woken: it is copied, must not refer to the caller's
  // stack, and must not throw. (This form is for condition variables. It does not call caller_may_wait().)
  template <class Decide, class After>
  SENNIT_INLINE bool wait(const wait_reason& why, time_point deadline, Decide decide, After after) {
    const auto gave_up = [this](waiter& me) {
      leave(me);
      return true;
    };
    return Policy::wait_in(place{this}, why.or_of(this), deadline, entering_by(decide, after), gave_up)
        .served;
  }
  template <class Decide>
  bool wait(const wait_reason& why, time_point deadline, Decide decide) {
    Policy::caller_may_wait(why.text);
    return wait(why, deadline, decide, [] {});
  }
  // Like wait() without a deadline, as the policy's wait_inline_in().
  template <class Decide>
  SENNIT_INLINE bool wait_inline(const wait_reason& why, Decide decide) {
    Policy::caller_may_wait(why.text);
    return Policy::wait_inline_in(place{this}, why.or_of(this), entering_by(decide, [] {}));
  }

  // Like wait() for a fiber without a stack (queue_wait.hpp), represented by itself or by a multi_wait_node.
  // After file() the fiber waits, and the caller must not touch it. leave() takes it out of the queue; it
  // returns false if a waker has already taken it.
  template <class Decide>
  bool file(fiber& f, waiter& me, Decide& decide, const char* reason) noexcept {
    Policy::prepare(f, reason);
    return enter(me, decide);
  }
  bool leave(waiter& me) noexcept {
    const guard hold(*this);
    return Policy::leave(me);
  }

  // ---- Waking. The queue's lock has been released before.

  // Readies the fiber that pop() or pop_first() returned. Does nothing for null.
  SENNIT_INLINE static void make_ready(fiber* who) noexcept { Policy::make_ready(who); }
  // In the order in which they waited.
  static void make_all_ready(fiber_chain& woken) noexcept { Policy::make_all_ready(woken); }

  // Changes the state by `change(state&)` under the lock. If that returns true, wakes all waiters. No waiter
  // is made ready before all are taken and the lock is released, because a woken waiter may destroy the
  // queue.
  template <class Change>
  void wake_all_if(Change change) noexcept {
    fiber_chain woken;
    {
      guard hold(*this);
      state now = hold.get();
      const bool all = change(now);
      hold.set(now);
      for (fiber* who = nullptr; all && hold.pop(0, who);)
        if (who != nullptr) {
          if constexpr (Policy::is_shared)
            woken(who);
          else
            Policy::wake_back(*who);  // it runs after this function
        }
    }
    make_all_ready(woken);
  }
  void wake_all(state to) noexcept {
    wake_all_if([to](state& now) {
      now = to;
      return true;
    });
  }

protected:
  // Returns true if the waiter is in the queue; then it may be gone already.
  template <class Decide>
  bool enter(waiter& w, Decide& decide) {
    guard hold(*this);
    bool need_not = false;
    if constexpr (std::invocable<Decide&, guard&, waiter&>) {
      need_not = decide(hold, w);
    } else {
      state now = hold.get();
      need_not = decide(now);
      hold.set(now);
    }
    if (!need_not)
      hold.push(w);
    return !need_not;
  }

private:
  struct place {
    bool leave(waiter& me) const noexcept { return queue->leave(me); }
    basic_wait_queue* queue;
  };
  // As wait_in() wants it: `decide` may lie on the waiter's stack, which exists until the waiter is in the
  // queue.
  template <class Decide, class After>
  SENNIT_INLINE auto entering_by(Decide& decide, After after) noexcept {
    return [this, &decide, after](waiter& me, fiber*&) __attribute__((always_inline)) {
      const After then = after;
      const bool waits = enter(me, decide);
      if (waits)
        then();
      return waits;
    };
  }

  kept kept_{};
};

}  // namespace sennit::inline v0_1::detail
