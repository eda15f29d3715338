// sennit::counting_semaphore: permits that fibers and OS threads take and give back.
// room: sync
//
//   sennit::counting_semaphore connections(100);
//   connections.acquire();
//   ...
//   connections.release();
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>

#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// As std::counting_semaphore. Who waits is served in order; a permit that is given back goes to the one who
// has waited longest.
class counting_semaphore {
public:
  // At most max().
  explicit constexpr counting_semaphore(std::size_t permits) noexcept : queue_(permits) {}
  static constexpr std::size_t max() noexcept { return ~std::size_t{0} >> 3; }

  void acquire() { try_acquire_until(detail::never); }
  bool try_acquire() noexcept;
  // False: the deadline (steady clock) passed first.
  bool try_acquire_until(std::chrono::steady_clock::time_point deadline);
  template <class Rep, class Period>
  bool try_acquire_for(std::chrono::duration<Rep, Period> time) {
    return try_acquire_until(std::chrono::steady_clock::now() + time);
  }

  void release(std::size_t permits = 1);

private:
  detail::wait_queue queue_;  // the state: how many permits are left
};

using binary_semaphore = counting_semaphore;

}  // namespace sennit
