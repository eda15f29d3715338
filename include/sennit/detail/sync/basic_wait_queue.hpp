// Wait queues: the waiters of an object, and the object's state, which decides whether a caller must wait.
// This is the part that both kinds share; each kind adds its way to wait:
//
//   wait_queue         for fibers of any worker and OS threads (wait_queue.hpp)
//   local_wait_queue   for the fibers of one local runtime, without atomics (local_wait_queue.hpp)
//
// Synchronization types are templates over the kind, so each algorithm is written once. It must be correct
// for wait_queue: between two calls another thread may change anything. The last access to the object comes
// before any waiter is made ready, because a woken waiter may destroy the object.
//
// `Kept` holds the state and the list of waiters: change, peek and quiet as below; lock() -> state,
// unlock(state), and list(), which requires the lock. `Wakes` ends waits: `take(waiter, word, who&)`,
// `deliver(who)` and `deliver_all(chain)`.
#pragma once

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

template <class Kept, class Wakes>
class basic_wait_queue {
public:
  using state = std::uintptr_t;

  constexpr basic_wait_queue() noexcept = default;
  explicit constexpr basic_wait_queue(state initial) noexcept : kept_(initial) {}
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
  state peek(std::memory_order order = std::memory_order_relaxed) const noexcept { return kept_.peek(order); }
  // Returns true if there are no waiters and no fiber or thread is about to become one.
  bool quiet() const noexcept { return kept_.quiet(); }

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
      kept_.unlock(state_);
    }

    state get() const noexcept { return state_; }
    void set(state to) noexcept { state_ = to; }
    bool empty() const noexcept { return kept_.list().empty(); }
    void push(waiter& w) noexcept { list_push_back(kept_.list(), w); }
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
      return Wakes::take(static_cast<waiter&>(node), word, who);
    }

    Kept& kept_;
    state state_;
    bool unlocked_ = false;
  };

  // Each kind also has:
  //
  //   bool wait(reason, deadline, decide)
  //   bool wait(reason, deadline, decide, after)
  //
  // Waits, unless `decide(state&)`, called under the lock, returns true. A `decide(guard&, waiter&)` may also
  // look at the queue, and set the waiter's word to an even number. Returns false if the deadline passed
  // first. If the wait is stopped, it throws, and the caller has left the queue; it throws forced_unwind when
  // the runtime ends. `reason` is a wait_reason; if it names no object, the object is the queue. `after()` is
  // called when the caller is in the queue, from where it may already have been woken: it is copied, must not
  // refer to the caller's stack, and must not throw.
  //
  //   bool wait_inline(reason, decide)
  //
  // Like wait() without a deadline, inlined in the caller. (A call that switches fibers inside makes the
  // processor mispredict its return.) Returns false if this caller cannot wait so; it must then call wait().
  //
  //   bool file(fiber, waiter, decide, reason)
  //   bool leave(waiter)
  //
  // Like wait() for a fiber without a stack (queue_wait.hpp), represented by itself or by a claimed_waiter.
  // After file() the fiber waits, and the caller must not touch it. leave() takes it out of the queue; it
  // returns false if a waker has already taken it.
  //
  //   is_shared
  //
  // Whether other threads may interfere between two calls.
  //
  //   owners
  //
  // A count of the owners of an object that lives as long as one of them; initially 1. It has add() and
  // drop(); drop() returns true for the last owner.

  // ---- Waking. The queue's lock has been released before.

  // Readies the fiber that pop() or pop_first() returned. Does nothing for null.
  SENNIT_INLINE static void deliver(fiber* who) noexcept { Wakes::deliver(who); }
  // In the order in which they waited.
  static void deliver_all(fiber_chain& woken) noexcept { Wakes::deliver_all(woken); }

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
        if (who != nullptr)
          woken(who);
    }
    deliver_all(woken);
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
  Kept kept_{};
};

}  // namespace sennit::detail
