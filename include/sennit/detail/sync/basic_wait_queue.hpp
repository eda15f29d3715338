// Wait queues: who waits for an object, and the object's state, which decides whether one must. What all
// kinds have in common; each adds how one waits in it.
//
//   wait_queue         for fibers of any worker and OS threads (wait_queue.hpp)
//   local_wait_queue   for the fibers of one local runtime, without atomics (local_wait_queue.hpp)
//
// Types that wait are templates over the kind: an algorithm is there once. It has to stand all that happens
// in the first: between two calls anything may have changed, and the last access to the object comes before
// anybody is made ready, for who is woken may destroy it.
//
// `Kept` keeps the state and the list of those who wait: change, peek and quiet as below;
// lock() -> state, unlock(state), and list(), which is for who holds the lock. `Wakes` ends waits:
// take(waiter, word, who&), deliver(who) and deliver_all(chain).
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

  // Changes the state, if it is `from` and nobody waits.
  SENNIT_INLINE bool change(state from, state to, std::memory_order order) noexcept {
    return kept_.change(from, to, order);
  }
  state peek(std::memory_order order = std::memory_order_relaxed) const noexcept { return kept_.peek(order); }
  // Nobody waits, nor is anybody about to.
  bool quiet() const noexcept { return kept_.quiet(); }

  // ---- With the lock. It keeps nobody waiting: the holder must not block, nor use what is above.

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
    // Takes who has waited longest, or came last, and gives it a word. False: nobody waits.
    SENNIT_INLINE bool pop(std::uintptr_t word, fiber*& who, bool newest = false) noexcept {
      while (!empty())
        if (take(newest ? *kept_.list().previous : *kept_.list().next, word, who)) [[likely]]
          return true;
      return false;
    }
    // What who has waited longest put into its word when it entered. Precondition: somebody waits.
    std::uintptr_t first_word() const noexcept { return static_cast<waiter&>(*kept_.list().next).word; }
    // Takes that one, and gives it a word. False: it had stopped waiting.
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

  // Each kind has, besides:
  //
  //   bool wait(reason, deadline, decide)
  //   bool wait(reason, deadline, decide, after)
  //
  // Waits, unless `decide(state&)`, called under the lock, returns true: it need not. (Or `decide(guard&,
  // waiter&)`, which may look at the queue, and put what it wants into the waiter's word: an even number.)
  // False: the deadline passed first. Throws, with the caller out of the queue, when it is told to leave: by
  // forced_unwind when its runtime ends. `reason`: a wait_reason; the object is the queue, if it names none.
  // `after()` is called when the caller is in the queue, from where it may already have been woken: it is
  // copied, must not refer to the caller's stack, and must not throw.
  //
  //   bool wait_inline(reason, decide)
  //
  // The same without a deadline, in the caller's code: a call that switches and returns takes its return for
  // another one's. False: this caller cannot wait so, and is to call wait().
  //
  //   bool file(fiber, waiter, decide, reason)
  //   bool leave(waiter)
  //
  // The same of a fiber that has no stack (queue_wait.hpp), as itself or as a claimed_waiter: it waits from
  // now on, and is not to be touched any more. And out of the queue; false: it has been taken out.
  //
  //   is_shared
  //
  // Whether other threads may come between two calls.
  //
  //   owners
  //
  // How many keep an object that lives as long as one of them does; one at first. add(), and drop(), which
  // returns true to the last.

  // ---- Waking. The queue has been let go before.

  // Makes ready whom pop() or pop_first() gave; null: nobody.
  SENNIT_INLINE static void deliver(fiber* who) noexcept { Wakes::deliver(who); }
  // In the order in which they waited.
  static void deliver_all(fiber_chain& woken) noexcept { Wakes::deliver_all(woken); }

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

protected:
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

private:
  Kept kept_{};
};

}  // namespace sennit::detail
