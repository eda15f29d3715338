// The rival of sennit::mutex: its state and the list of its waiters are two fields under a spin lock, instead
// of one word (include/sennit/detail/sync/low_lock_waiters.hpp). The paper's authors used such a queue where
// they had not ported theirs.
//
// Every access takes the spin lock, so an uncontended lock() or unlock() needs one read-modify-write too, but
// must also store its release. It barges, as sennit::mutex does by default. Only for fibers of a
// sennit::runtime, which no stop interrupts.
//
// Source: Dolan 2013, section 6.2 ("we replaced our optimized queue with a simple spin-lock protected
// queue").
#pragma once

#include <mutex>
#include <utility>

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace bench {

class spin_mutex {
public:
  void lock() {
    while (!try_lock()) {
      site here(*this);
      sennit::detail::parallel_block(*sennit::detail::this_parallel(), here,
                                     [this](sennit::detail::fiber& self) { return enter(self); });
    }
  }
  bool try_lock() {
    const std::lock_guard hold(guard_);
    return !std::exchange(locked_, true);
  }
  void unlock() {
    sennit::detail::fiber* woken = nullptr;
    {
      const std::lock_guard hold(guard_);
      locked_ = false;
      if (waiters_.empty())
        return;
      auto& first = static_cast<sennit::detail::waiter&>(*waiters_.next);
      first.leave_list();
      sennit::detail::take_waiter(first, 0, woken);
    }
    sennit::detail::make_ready(woken);
  }

private:
  struct site : sennit::detail::wait_site {
    explicit site(spin_mutex& of) : wait_site({"spin mutex", &of}, withdraw), mutex(&of) {}
    static bool withdraw(wait_site& from, sennit::detail::fiber& f) noexcept {
      const std::lock_guard hold(static_cast<site&>(from).mutex->guard_);
      return sennit::detail::leave_list(f);
    }
    spin_mutex* mutex;
  };

  // Returns false if the mutex has become free.
  bool enter(sennit::detail::fiber& self) {
    const std::lock_guard hold(guard_);
    if (locked_)
      list_push_back(waiters_, self);
    return locked_;
  }

  sennit::detail::spin_lock guard_;
  bool locked_ = false;
  sennit::detail::waiter_list waiters_;
};

}  // namespace bench
