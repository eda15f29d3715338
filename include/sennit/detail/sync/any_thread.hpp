// The policy of objects that fibers of any worker, of any parallel runtime, and OS threads wait for. What a
// policy provides: basic_wait_queue.hpp.
//
// Source: Dolan 2013, section 5.1 (wait queues).
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sync/biased_waiters.hpp"
#include "sennit/detail/sync/low_lock_waiters.hpp"
#include "sennit/detail/wait/wait.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::inline v0_1::detail {

struct any_thread {
  static constexpr bool is_shared = true;
  static constexpr bool direct = true;
  static constexpr wait_options for_mutex{};
  using waiters = low_lock_waiters;
  using lock_waiters = biased_waiters;
  using lock = spin_lock;
  using channel_lock = spin_lock;
  using semaphore_waiters = low_lock_waiters;

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

  static void caller_may_wait(const char*) noexcept {}  // every thread may
  template <class Place, class Enter, class GaveUp>
  SENNIT_INLINE static wait_result wait_in(const Place& place, const wait_reason& why, time_point deadline,
                                           const Enter& enter, const GaveUp& gave_up) {
    return detail::wait_in(place, why, deadline, enter, gave_up);
  }
  template <class Place, class Enter>
  SENNIT_INLINE static bool wait_inline_in(const Place& place, const wait_reason& why, const Enter& enter) {
    parallel_worker* const w = can_enqueue_directly(never);
    if (w == nullptr) [[unlikely]]
      return false;
    block_in(*w, place, why, enter);
    return true;
  }
  static void prepare(const fiber& f, const char* reason) noexcept { must_be_of_kind(f, true, reason); }
  static bool leave(waiter& me) noexcept { return leave_list(me); }
  static bool stands(const waiter& w) noexcept { return w.next != nullptr; }

  SENNIT_INLINE static bool take(waiter& w, std::uintptr_t word, fiber*& who) noexcept {
    return take_waiter(w, word, who);
  }
  SENNIT_INLINE static void make_ready(fiber* who) noexcept { detail::make_ready(who); }
  static void release_taken() noexcept { detail::release_taken(); }
  static void make_all_ready(fiber_chain& woken) noexcept;
  static void make_ready_and_enter(fiber* who);
};

}  // namespace sennit::inline v0_1::detail
