// In place of the fault room, which exists for few CPUs: faults are not handled. (scripts/portability)
#include "sennit/detail/fault/handler.hpp"

namespace sennit::inline v0_1::detail {

int fault_watch_thread() noexcept {
  return 0;
}

void fault_must_watch_thread() {}

}  // namespace sennit::inline v0_1::detail
