// A wait queue: who waits for an object, and the object's state, which decides whether one must.
//
// One word holds both a few bits of state and what the quick ways need to know, so that taking and giving
// back what nobody else wants is one compare-and-swap each:
//
//   bit 0       the queue is locked       set by compare-and-swap, cleared by the store that ends it
//   bit 1       somebody waits            under the lock
//   bits 2...   the object's state        by compare-and-swap while bits 0 and 1 are clear, or under the lock
//
// All else happens under the lock: one read-modify-write to take it, and the store that lets it go also
// publishes the new state. That store is the last access to the object: who is woken may destroy it, so
// waiters are made ready after it.
//
// Rejected: waiters that push themselves onto a list in the word by compare-and-swap, without the lock (the
// seed's algorithm). Pushing is one read-modify-write then, but taking one off is two, for
// the lock cannot be let go by a store while others push: three for a hand-over instead of two.
//
// Source: Dolan 2013, section 5.1 (wait queues), and 7.4 (a spinlock-protected list in its place).
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <utility>

#include "sennit/detail/sched/wait.hpp"

namespace sennit::detail {

// In the order in which they waited.
void deliver_all(fiber_chain& woken) noexcept;
// deliver(), and the calling fiber gives way to it.
void deliver_and_enter(fiber* who);

class wait_queue {
public:
  using state = std::uintptr_t;

  constexpr wait_queue() noexcept = default;
  explicit constexpr wait_queue(state initial) noexcept : word_(initial << state_shift) {}
  wait_queue(const wait_queue&) = delete;
  wait_queue& operator=(const wait_queue&) = delete;

  // ---- Without the lock.

  // Changes the state, if it is `from` and nobody waits.
  [[gnu::always_inline]] bool change(state from, state to, std::memory_order order) noexcept {
    std::uintptr_t expected = from << state_shift;
    return word_.compare_exchange_strong(expected, to << state_shift, order, std::memory_order_relaxed);
  }
  state peek(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return word_.load(order) >> state_shift;
  }
  // Nobody waits, nor is anybody about to.
  bool quiet() const noexcept { return (word_.load(std::memory_order_relaxed) & (locked | waited_for)) == 0; }

  // ---- With the lock. It keeps nobody waiting: the holder must not block.

  class guard {
  public:
    [[gnu::always_inline]] explicit guard(wait_queue& queue) noexcept : queue_(queue), state_(queue.lock()) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    [[gnu::always_inline]] ~guard() {
      if (!unlocked_)
        unlock();
    }
    [[gnu::always_inline]] void unlock() noexcept {
      unlocked_ = true;
      queue_.unlock(state_);
    }

    state get() const noexcept { return state_; }
    void set(state to) noexcept { state_ = to; }
    bool empty() const noexcept { return queue_.waiters_.empty(); }
    void push(waiter& w) noexcept { list_push_back(queue_.waiters_, w); }
    // Takes who has waited longest, or came last, and gives it a word. False: nobody waits.
    [[gnu::always_inline]] bool pop(std::uintptr_t word, fiber*& who, bool newest = false) noexcept {
      while (!empty())
        if (take(newest ? *queue_.waiters_.previous : *queue_.waiters_.next, word, who)) [[likely]]
          return true;
      return false;
    }
    // What who has waited longest put into its word when it entered. Precondition: somebody waits.
    std::uintptr_t first_word() const noexcept { return static_cast<waiter&>(*queue_.waiters_.next).word; }
    // Takes that one, and gives it a word. False: it had stopped waiting.
    bool pop_first(std::uintptr_t word, fiber*& who) noexcept {
      return take(*queue_.waiters_.next, word, who);
    }

  private:
    [[gnu::always_inline]] static bool take(wait_node& node, std::uintptr_t word, fiber*& who) noexcept {
      node.leave_list();
      return take_waiter(static_cast<waiter&>(node), word, who);
    }

    wait_queue& queue_;
    state state_;
    bool unlocked_ = false;
  };

  // Waits, unless `decide(state&)`, called under the lock, returns true: it need not. (Or `decide(guard&,
  // waiter&)`, which may look at the queue, and put what it wants into the waiter's word: an even number.)
  // False: the deadline passed first. Throws forced_unwind when the caller's runtime ends. `reason`: a
  // literal, for people.
  // `after()` is called when the caller is in the queue, from where it may already have been woken: it is
  // copied, and must not refer to the caller's stack.
  template <class Decide, class After>
  [[gnu::always_inline]] bool wait(const char* reason, time_point deadline, Decide decide, After after) {
    if (parallel_worker* w = may_file_itself(deadline)) [[likely]] {
      site here{{reason, withdraw}, this};
      parallel_block(*w, here, [this, &decide, after](fiber& self) {
        const After then = after;
        const bool waits = enter(self, decide);
        if (waits)
          then();
        return waits;
      });
      return true;
    }
    return wait_claimed(reason, deadline, decide, after);
  }

  template <class Decide>
  bool wait(const char* reason, time_point deadline, Decide decide) {
    return wait(reason, deadline, decide, [] {});
  }

  // Changes the state, by `change(state&)` under the lock; if that returns true, wakes all who wait. Nobody
  // is made ready before all have been taken and the queue let go: who is may destroy it.
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

private:
  friend class guard;
  static constexpr unsigned state_shift = 2;
  static constexpr std::uintptr_t locked = 1;
  static constexpr std::uintptr_t waited_for = 2;

  struct site : wait_site {
    wait_queue* queue;
  };
  static bool withdraw(wait_site& from, fiber& f) noexcept {
    const guard hold(*static_cast<site&>(from).queue);
    return leave_list(f);
  }

  template <class Decide, class After>
  [[gnu::noinline]] bool wait_claimed(const char* reason, time_point deadline, Decide decide, After after) {
    claimed_wait wait(reason, deadline);
    if (!enter(wait.node(), decide))
      return true;
    after();
    const bool woken = wait.wait();
    {
      const guard hold(*this);
      leave_list(wait.node());
    }
    if (!woken)
      wait.leave_if_told();
    return woken;
  }

  // True: it is in the queue, and may be gone.
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

  [[gnu::always_inline]] state lock() noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_relaxed);
    if ((seen & locked) != 0 || !word_.compare_exchange_strong(seen, seen | locked, std::memory_order_acquire,
                                                               std::memory_order_relaxed)) [[unlikely]]
      seen = lock_slow();
    return seen >> state_shift;
  }
  std::uintptr_t lock_slow() noexcept;
  [[gnu::always_inline]] void unlock(state now) noexcept {
    const std::uintptr_t waited = waiters_.empty() ? 0 : waited_for;
    word_.store((now << state_shift) | waited, std::memory_order_release);
  }

  std::atomic<std::uintptr_t> word_{0};
  waiter_list waiters_;
};

}  // namespace sennit::detail
