// A mutex over the waiters under test: what basic_wait_queue.hpp and mutex_word.hpp do with them.
#pragma once

#include "sennit/detail/sched/fiber.hpp"
#include "weak.hpp"

struct sleeper : sennit::detail::waiter {
  weak::gate woken;
};

template <class Waiters>
class mutex {
public:
  template <class... Initial>
  explicit constexpr mutex(const Initial&... initial) : waiters_(initial...) {}

  void take(sleeper& me) noexcept {
    while (!waiters_.change_quickly(0, 1, std::memory_order_acquire)) {
      if (waiters_.lock() == 0) {
        waiters_.unlock(1, true);
        return;
      }
      waiters_.push(me);
      waiters_.unlock(1, false);
      me.woken.wait();
    }
  }

  void give() noexcept {
    if (waiters_.change_quickly(1, 0, std::memory_order_release))
      return;
    waiters_.lock();
    sleeper* who = nullptr;
#if !defined(FORGETS)
    if (!waiters_.list().empty()) {
      sennit::detail::wait_node* const first = waiters_.list().next;
      first->leave_list();
      who = static_cast<sleeper*>(static_cast<sennit::detail::waiter*>(first));
    }
#endif
    waiters_.unlock(0, true);
    if (who != nullptr)
      who->woken.signal();
  }

private:
  Waiters waiters_;
};
