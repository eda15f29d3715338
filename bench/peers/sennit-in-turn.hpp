// Sennit: objects with the library's waits, except for one thing: a woken fiber waits for its turn in the run
// queue.
#pragma once

#include "sennit/detail/sync/local_waits.hpp"
#include "sennit/detail/sync/shared_waits.hpp"

namespace bench {

struct local_in_turn : sennit::detail::local_waits {
  static constexpr bool direct = false;
  static void wake(sennit::detail::fiber* who) {
    sennit::detail::unpark_in_turn(*who, sennit::detail::fiber_status::notified);
  }
};
struct in_turn : sennit::detail::shared_waits {
  static constexpr bool direct = false;
  static void wake(sennit::detail::fiber* who) {
    sennit::detail::parallel_ready_in_turn(*who, sennit::detail::fiber_status::notified);
  }
};

}  // namespace bench
