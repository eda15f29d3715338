// Waiting in lists, for objects that have more than one list: here among the fibers of one local runtime,
// without a lock. shared_waits (shared_waits.hpp) has the same interface, and a lock:
//
//   lock(), unlock()
//   take(waiter, who&)            ends the wait of a waiter that was taken off a list; false: it had stopped
//                                 waiting. `who` is the fiber to ready, or null
//   wake(who), wake_all           readies a fiber with the word in its descriptor, after the lock is released
//   wait(list, offered, ...)      with the lock held: enters the list, releases the lock, waits. Returns the
//                                 word of the wake-up, or 0
//   wait_by(..., file)            like wait(), but `file(waiter&, next&)` enters the waiter and releases the
//                                 lock; the waiter may be gone after that. file() returns false if no wait is
//                                 needed. `next` is a fiber that file() readies, to run next. If the waiter
//                                 is not the fiber itself, wait_by() takes `gone`, too, as leave() does
//   enter(list, fiber, waiter)    with the lock held: enters a fiber without a stack, as itself or as a
//                                 claimed_waiter. Do not touch it once the lock is released
//   prepare(fiber, reason)        the part of enter() before it enters the list; without the lock
//   stands(waiter)                with the lock held, for a waiter that was not taken: whether it still waits
//   leave(waiter[, gone])         takes a waiter off its list, and calls gone() under the lock; false: a
//   waker
//                                 has taken it
//   mutual_exclusion()            the lock, or null: for select, which waits in several channels at once
#pragma once

#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/sched/wait.hpp"

namespace sennit::detail {

struct nothing_to_do {
  void operator()() const noexcept {}
};

struct local_waits {
  // A fiber woken by a waiter can be entered directly, by wait_by.
  static constexpr bool direct = true;

  void lock() noexcept {}
  void unlock() noexcept {}
  static constexpr spin_lock* mutual_exclusion() noexcept { return nullptr; }
  SENNIT_INLINE static bool take(waiter& w, fiber*& who) noexcept {
    if (w.flags.kind != waiter_kind::fiber) [[unlikely]] {
      fiber* claimed = nullptr;  // not `who`, so that `who` can stay in a register
      const bool taken = take_waiter(w, w.word, claimed);
      who = claimed;
      return taken;
    }
    who = static_cast<fiber*>(&w);
    return true;
  }
  SENNIT_INLINE static void wake(fiber* who) { unpark(*who); }
  static void let_go() noexcept {}
  static void wake_all(fiber_chain& woken) {
    while (fiber* f = woken.pop())
      unpark_in_turn(*f, fiber_status::notified);
  }
  // Each wait returns the word that its waiter has.
  static void wake_all_with_words(fiber_chain& woken) {
    while (fiber* f = woken.pop()) {
      const std::uintptr_t word = f->word;
      unpark_in_turn(*f, fiber_status::notified);
      f->word = word;
    }
  }
  static void prepare(fiber& f, const char* reason) noexcept {
    must_be_of_kind(f, false, reason);
    f.flags.status = fiber_status::waiting;
  }
  static void enter(waiter_list& list, fiber& f, waiter& me) noexcept {
    prepare(f, "channel");
    list_push_back(list, me);
  }
  static bool stands(const waiter& w) noexcept { return w.flags.status == fiber_status::waiting; }
  static bool leave(waiter&) noexcept { return true; }  // stop_waiting() has done it
  template <class Gone>
  static bool leave(waiter&, Gone gone) noexcept {
    gone();
    return true;
  }
  SENNIT_INLINE std::uintptr_t wait(waiter_list& list, void* offered, const wait_reason& why,
                                    time_point deadline) {
    return wait_by(why, deadline, [&list, offered](waiter& w, fiber*&) {
      w.word = reinterpret_cast<std::uintptr_t>(offered);
      list_push_back(list, w);
      return true;
    });
  }
  template <class File, class Gone = nothing_to_do>
  SENNIT_INLINE std::uintptr_t wait_by(const wait_reason& why, time_point deadline, File file, Gone = {}) {
    worker& w = running_worker(why.text);
    fiber* next = nullptr;
    if (!file(*w.ready.current, next))
      return 0;
    if (deadline == never)
      return park(w, fiber_status::waiting, why, next);
    if (next != nullptr)
      unpark(*next, 0);
    return park_until(w, fiber_status::waiting, why, deadline) ? this_worker()->ready.current->word : 0;
  }
};

// Holds the lock, until it releases the lock or passes it on to wait_by().
template <class Waits>
class waits_lock {
public:
  SENNIT_INLINE explicit waits_lock(Waits& of) noexcept : waits_(of) { waits_.lock(); }
  waits_lock(const waits_lock&) = delete;
  waits_lock& operator=(const waits_lock&) = delete;
  SENNIT_INLINE ~waits_lock() {
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
      Waits::wake(who);
    else
      Waits::let_go();
  }

private:
  Waits& waits_;
  bool held_ = true;
};

}  // namespace sennit::detail
