// Waits under a lock that several things may end.
#include "sennit/detail/sync/shared_waits.hpp"

#include <mutex>

namespace sennit::detail {

bool shared_waits::withdraw(wait_site& from, fiber& f) noexcept {
  const std::lock_guard hold(*static_cast<site&>(from).lock);
  return leave_list(f);
}

bool shared_waits::leave(fiber& f) noexcept {
  const std::lock_guard hold(lock_);
  return leave_list(f);
}

std::uintptr_t shared_waits::wait_claimed(waiter_list& list, std::uintptr_t word, const char* reason,
                                          time_point deadline) {
  claimed_wait wait(reason, deadline);
  wait.node().word = word;
  list_push_back(list, wait.node());
  lock_.unlock();
  const bool ended = wait.wait();
  {
    const std::lock_guard hold(lock_);
    leave_list(wait.node());
  }
  if (ended)
    return wait.word();
  wait.leave_if_told();
  return 0;
}

}  // namespace sennit::detail
