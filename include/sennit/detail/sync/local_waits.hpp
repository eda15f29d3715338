// Waiting in lists, of objects that have more than one: among the fibers of one local runtime, without a
// lock. shared_waits (shared_waits.hpp) is used alike, and has one:
//
//   lock(), unlock()
//   take(waiter, who&)            ends the wait of one taken off a list; false: it had stopped waiting. `who`
//                                 is to be made ready, or null: nobody
//   wake(who), wake_all           makes ready, with the word that lies in the fiber; the lock was let go
//   wait(list, offered, ...)      with the lock held: enters the list, lets the lock go, waits. Returns the
//                                 word it was woken with, or 0
//   wait_by(..., file)            the same, where `file(waiter&, next&)` enters what it wants and lets go the
//                                 lock: the waiter may be gone then. False: it need not wait. `next`: who is
//                                 made ready by that, to run next. And `gone`, as leave()'s, where the waiter
//                                 is not the fiber itself
//   enter(list, fiber, waiter)    with the lock held: the same of a fiber without a stack, as itself or as a
//                                 claimed_waiter, which is not to be touched any more once the lock is let go
//   prepare(fiber, reason)        what enter() does before it enters the list; without the lock
//   stands(waiter)                with the lock held: whether it still waits, of one that has not been taken
//   leave(waiter[, gone])         takes it out again, and calls gone() under the lock; false: it has been
//                                 taken out
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
  // Who is woken by who waits need not be queued: wait_by may enter it.
  static constexpr bool direct = true;

  void lock() noexcept {}
  void unlock() noexcept {}
  static constexpr spin_lock* mutual_exclusion() noexcept { return nullptr; }
  SENNIT_INLINE static bool take(waiter& w, fiber*& who) noexcept {
    if (w.flags.kind != waiter_kind::fiber) [[unlikely]] {
      fiber* claimed = nullptr;  // not `who`, which so can be in a register
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

// Holds the lock, until it lets it go or passes it on to wait_by().
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
  // A waiter that is made ready, or let go, may destroy what the lock belongs to. Null: none is made ready.
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
