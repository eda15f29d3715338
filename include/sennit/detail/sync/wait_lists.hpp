// Waiting in lists under a lock, for objects that have more than one list. The policy (basic_wait_queue.hpp)
// decides which fibers and threads may wait; with one_thread there is no lock.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/look.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

struct nothing_to_do {
  void operator()() const noexcept {}
};

// TSan would report looks that need no lock.
#if defined(SENNIT_TSAN)
inline constexpr bool can_only_lock = true;
#else
inline constexpr bool can_only_lock = false;
#endif

// Without the lock.
SENNIT_INLINE bool looks_waited(const waiter_list& list) noexcept {
  return look_ahead(list.next) != &list;
}

template <class Policy, class Lock = typename Policy::lock>
class wait_lists {
public:
  SENNIT_INLINE void lock() noexcept SENNIT_NOT_ANALYZED { lock_.lock(); }
  SENNIT_INLINE void unlock() noexcept SENNIT_NOT_ANALYZED { lock_.unlock(); }
  // For select, which waits in several channels at once.
  Lock& mutual_exclusion() noexcept { return lock_; }

  // Ends the wait of a waiter that was taken off a list, and that keeps its word. Returns false if it had
  // stopped waiting. `who`: the fiber to ready, or null.
  SENNIT_INLINE static bool take(waiter& w, fiber*& who) noexcept { return Policy::take(w, w.word, who); }
  // Readies a fiber with the word in its descriptor, after the lock is released.
  SENNIT_INLINE static void wake(fiber* who) { Policy::make_ready(who); }
  // In the order in which they waited.
  static void wake_all(fiber_chain& woken) noexcept { Policy::make_all_ready(woken); }
  // Replaces wake() if a waiter was taken and there is no fiber to wake.
  static void release_taken() noexcept { Policy::release_taken(); }

  // With the lock held: enters the list with a pointer as its word, releases the lock and waits. Returns the
  // word of the wake-up, or 0 if the deadline has passed.
  SENNIT_INLINE std::uintptr_t wait(waiter_list& list, void* offered, const wait_reason& why,
                                    time_point deadline) {
    return wait_by(why, deadline, [this, &list, offered](waiter& w, fiber*&) {
      w.word = reinterpret_cast<std::uintptr_t>(offered);
      list_push_back(list, w);
      unlock();
      return true;
    });
  }
  // Like wait(), but `file` enters the waiter, as in wait_in(), and releases the lock. If the caller gives up
  // and its waiter is not the fiber itself, gone() is called under the lock.
  template <class File, class Gone = nothing_to_do>
  SENNIT_INLINE std::uintptr_t wait_by(const wait_reason& why, time_point deadline, File file,
                                       Gone gone = {}) {
    return wait_to_be_served(why, deadline, file, gone).word;
  }
  // Like wait_by(), for words that may be 0: returns whether a waker has ended the wait.
  template <class File, class Gone = nothing_to_do>
  SENNIT_INLINE wait_result wait_to_be_served(const wait_reason& why, time_point deadline, File file,
                                              Gone gone = {}) {
    return Policy::wait_in(place{this}, why, deadline, file, [this, gone](waiter& me) {
      leave(me, gone);
      return true;
    });
  }

  // With the lock held: enters a fiber without a stack, as itself or as a multi_wait_node. Do not touch it
  // once the lock is released.
  static void enter(waiter_list& list, fiber& f, waiter& me) noexcept {
    prepare(f, "channel");
    list_push_back(list, me);
  }
  // The part of enter() before it enters the list; without the lock.
  static void prepare(fiber& f, const char* reason) noexcept { Policy::prepare(f, reason); }
  // With the lock held, for a waiter that was not taken: returns whether it still waits.
  static bool stands(const waiter& w) noexcept { return Policy::stands(w); }
  // Takes a waiter off its list, and calls gone() under the lock. Returns false if a waker has taken it.
  template <class Gone = nothing_to_do>
  bool leave(waiter& me, Gone gone = {}) noexcept {
    lock();
    const bool left = Policy::leave(me);
    if (left)
      gone();
    unlock();
    return left;
  }

private:
  struct place {
    bool leave(waiter& me) const noexcept { return of->leave(me); }
    wait_lists* of;
  };

  [[no_unique_address]] Lock lock_;
};

// Holds the lock, until it releases the lock or passes it on to wait_by().
template <class Lists>
class lists_lock {
public:
  SENNIT_INLINE explicit lists_lock(Lists& of) noexcept : waits_(of) { waits_.lock(); }
  lists_lock(const lists_lock&) = delete;
  lists_lock& operator=(const lists_lock&) = delete;
  SENNIT_INLINE ~lists_lock() {
    if (held_)
      waits_.unlock();
  }
  SENNIT_INLINE void pass_on() noexcept { held_ = false; }
  SENNIT_INLINE void release() noexcept {
    held_ = false;
    waits_.unlock();
  }
  // A readied or released waiter may destroy the object that the lock belongs to. Null: no fiber is readied.
  SENNIT_INLINE void release_and_wake(fiber* who) {
    release();
    if (who != nullptr)
      Lists::wake(who);
    else
      Lists::release_taken();
  }

private:
  Lists& waits_;
  bool held_ = true;
};

}  // namespace sennit::inline v0_1::detail
