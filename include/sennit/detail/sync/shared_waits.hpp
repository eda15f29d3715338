// Waiting in lists under a lock, of objects with more than one list: fibers on any worker and OS threads.
#pragma once

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit::detail {

// Used as basic_channel.hpp says.
class shared_waits {
public:
  spin_lock* mutual_exclusion() noexcept { return &lock_; }
  [[gnu::always_inline]] void lock() noexcept { lock_.lock(); }
  [[gnu::always_inline]] void unlock() noexcept { lock_.unlock(); }

  // Who is woken gets its word from the caller, under the lock.
  [[gnu::always_inline]] static bool take(waiter& w, fiber*& who) noexcept {
    return take_waiter(w, w.word, who);
  }
  [[gnu::always_inline]] static void wake(fiber* who, std::uintptr_t) noexcept { deliver(who); }
  static void wake_all(fiber_chain& woken) noexcept { deliver_all(woken); }

  static void enter(waiter_list& list, fiber& f) noexcept {
    must_be_of_kind(f, true, "channel");
    list_push_back(list, f);
  }
  bool leave(fiber& f) noexcept;

  [[gnu::always_inline]] std::uintptr_t wait(waiter_list& list, void* offered, const char* reason,
                                             time_point deadline) {
    const auto word = reinterpret_cast<std::uintptr_t>(offered);
    if (parallel_worker* w = may_file_itself(deadline)) [[likely]] {
      site here{{reason, withdraw}, &lock_};
      return parallel_block(*w, here, [&list, word, lock = &lock_](fiber& self) {
        spin_lock* const held = lock;
        self.word = word;
        list_push_back(list, self);
        held->unlock();
        return true;
      });
    }
    return wait_claimed(list, word, reason, deadline);
  }

private:
  struct site : wait_site {
    spin_lock* lock;
  };
  static bool withdraw(wait_site& from, fiber& f) noexcept;
  std::uintptr_t wait_claimed(waiter_list& list, std::uintptr_t word, const char* reason,
                              time_point deadline);

  spin_lock lock_;
};

}  // namespace sennit::detail
