// Waiting in lists under a lock, of objects with more than one list: fibers on any worker and OS threads.
#pragma once

#include <mutex>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sync/local_waits.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit::detail {

// Used as described in local_waits.hpp.
class shared_waits {
public:
  static constexpr bool direct = true;

  spin_lock* mutual_exclusion() noexcept { return &lock_; }
  SENNIT_INLINE void lock() noexcept { lock_.lock(); }
  SENNIT_INLINE void unlock() noexcept { lock_.unlock(); }

  // The waker sets the woken fiber's word, under the lock.
  SENNIT_INLINE static bool take(waiter& w, fiber*& who) noexcept { return take_waiter(w, w.word, who); }
  SENNIT_INLINE static void wake(fiber* who) noexcept { deliver(who); }
  // Replaces wake() if a waiter was taken and there is no fiber to wake.
  static void let_go() noexcept { let_go_of_taken(); }
  static void wake_all(fiber_chain& woken) noexcept { deliver_all(woken); }
  static void wake_all_with_words(fiber_chain& woken) noexcept { deliver_all(woken); }

  static void prepare(const fiber& f, const char* reason) noexcept { must_be_of_kind(f, true, reason); }
  static void enter(waiter_list& list, const fiber& f, waiter& me) noexcept {
    prepare(f, "channel");
    list_push_back(list, me);
  }
  static bool stands(const waiter& w) noexcept { return w.next != nullptr; }
  template <class Gone = nothing_to_do>
  bool leave(waiter& me, Gone gone = {}) noexcept {
    const std::lock_guard hold(lock_);
    const bool left = leave_list(me);
    if (left)
      gone();
    return left;
  }

  SENNIT_INLINE std::uintptr_t wait(waiter_list& list, void* offered, const wait_reason& why,
                                    time_point deadline) {
    return wait_by(why, deadline, [this, &list, offered](waiter& w, fiber*&) {
      w.word = reinterpret_cast<std::uintptr_t>(offered);
      list_push_back(list, w);
      unlock();
      return true;
    });
  }
  template <class File, class Gone = nothing_to_do>
  SENNIT_INLINE std::uintptr_t wait_by(const wait_reason& why, time_point deadline, File file,
                                       Gone gone = {}) {
    if (parallel_worker* w = may_file_itself(deadline)) [[likely]] {
      site here(why, lock_);
      return parallel_block(*w, here, [file](fiber& self) {
        const File then = file;
        fiber* next = nullptr;
        const bool waits = then(self, next);
        if (next != nullptr)
          deliver(next);
        return waits;
      });
    }
    return wait_claimed(why, deadline, file, gone);
  }

private:
  struct site : wait_site {
    site(const wait_reason& why, spin_lock& of) noexcept : wait_site(why, withdraw_from), lock(&of) {}
    spin_lock* lock;
  };
  static bool withdraw_from(wait_site& from, fiber& f) noexcept;
  template <class File, class Gone>
  [[gnu::noinline]] std::uintptr_t wait_claimed(const wait_reason& why, time_point deadline, File file,
                                                Gone gone) {
    claimed_wait wait(why, deadline);
    fiber* next = nullptr;
    if (!file(wait.node(), next))
      return 0;
    if (next != nullptr)
      deliver(next);
    if (wait.wait())
      return wait.word();  // the object may be gone
    leave(wait.node(), gone);
    wait.leave_if_told();
    return 0;
  }

  spin_lock lock_;
};

}  // namespace sennit::detail
