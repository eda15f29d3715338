// The wait queue of fibers of any worker, of any parallel runtime, and of OS threads.
//
// Source: Dolan 2013, section 5.1 (wait queues).
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/wait.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"
#include "sennit/detail/sync/low_lock_waiters.hpp"

namespace sennit::detail {

// Readies the fibers in the order in which they waited.
void deliver_all(fiber_chain& woken) noexcept;
// Like deliver(), but the calling fiber switches to the woken fiber.
void deliver_and_enter(fiber* who);

struct shared_wakes {
  SENNIT_INLINE static bool take(waiter& w, std::uintptr_t word, fiber*& who) noexcept {
    return take_waiter(w, word, who);
  }
  SENNIT_INLINE static void deliver(fiber* who) noexcept { detail::deliver(who); }
  static void deliver_all(fiber_chain& woken) noexcept { detail::deliver_all(woken); }
};

class wait_queue : public basic_wait_queue<low_lock_waiters, shared_wakes> {
public:
  using basic_wait_queue::basic_wait_queue;
  static constexpr bool is_shared = true;

  class owners {
  public:
    void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    bool drop() noexcept {
      return count_.load(std::memory_order_acquire) == 1 ||
             count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

  private:
    std::atomic<unsigned> count_{1};
  };

  template <class Decide, class After>
  SENNIT_INLINE bool wait(const wait_reason& why, time_point deadline, Decide decide, After after) {
    return wait_inline(why, deadline, decide, after) || wait_claimed(why, deadline, decide, after);
  }

  template <class Decide>
  bool wait(const wait_reason& why, time_point deadline, Decide decide) {
    return wait(why, deadline, decide, [] {});
  }

  template <class Decide>
  bool file(const fiber& f, waiter& me, Decide& decide, const char* reason) noexcept {
    must_be_of_kind(f, true, reason);
    return enter(me, decide);
  }
  bool leave(waiter& me) noexcept {
    const guard hold(*this);
    return leave_list(me);
  }

  template <class Decide>
  SENNIT_INLINE bool wait_inline(const wait_reason& why, Decide decide) {
    return wait_inline(why, never, decide, [] {});
  }

private:
  template <class Decide, class After>
  SENNIT_INLINE bool wait_inline(const wait_reason& why, time_point deadline, Decide& decide, After after) {
    parallel_worker* const w = may_file_itself(deadline);
    if (w == nullptr) [[unlikely]]
      return false;
    site here(why.or_of(this), *this);
    parallel_block(*w, here, [this, &decide, after](fiber& self) {
      const After then = after;
      const bool waits = enter(self, decide);
      if (waits)
        then();
      return waits;
    });
    return true;
  }

  struct site : wait_site {
    site(const wait_reason& why, wait_queue& of) noexcept : wait_site(why, withdraw_from), queue(&of) {}
    wait_queue* queue;
  };
  static bool withdraw_from(wait_site& from, fiber& f) noexcept {
    return static_cast<site&>(from).queue->leave(f);
  }

  template <class Decide, class After>
  [[gnu::noinline]] bool wait_claimed(const wait_reason& why, time_point deadline, Decide decide,
                                      After after) {
    claimed_wait wait(why.or_of(this), deadline);
    if (!enter(wait.node(), decide))
      return true;
    after();
    if (wait.wait())
      return true;  // the queue may be gone
    leave(wait.node());
    wait.leave_if_told();
    return false;
  }
};

}  // namespace sennit::detail
