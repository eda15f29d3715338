// Sennit: objects with the library's waits, except for one thing: a woken fiber waits for its turn in the run
// queue.
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace bench {

struct local_in_turn : sennit::detail::one_thread {
  static constexpr bool direct = false;
  static void make_ready(sennit::detail::fiber* who) {
    if (who != nullptr)
      sennit::detail::unpark_back(*who, sennit::detail::fiber_status::notified);
  }
};
struct in_turn : sennit::detail::any_thread {
  static constexpr bool direct = false;
  static void make_ready(sennit::detail::fiber* who) {
    if (who != nullptr)
      sennit::detail::parallel_ready_back(*who, sennit::detail::fiber_status::notified);
    else
      release_taken();
  }
};

}  // namespace bench
