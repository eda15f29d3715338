// In place of the fault room, which is of few CPUs: nobody handles faults. (scripts/portability)
#include "sennit/detail/fault/handler.hpp"

namespace sennit::detail {

void fault_watch_thread() noexcept {}

}  // namespace sennit::detail
