// Waits under a lock that several things may end.
#include "sennit/detail/sync/shared_waits.hpp"

#include <mutex>

namespace sennit::detail {

bool shared_waits::withdraw_from(wait_site& from, fiber& f) noexcept {
  const std::lock_guard hold(*static_cast<site&>(from).lock);
  return leave_list(f);
}

}  // namespace sennit::detail
