// Sennit's own idiom for a message to one fiber.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../support/opaque.hpp"

namespace bench {

/// Holds one message for one fiber, which parks until it is there. `park`: of its runtime; `Taker`: its
/// handle, which the mailbox then keeps, or a pointer to it.
template <void (&park)(), class Taker>
class park_mailbox {
public:
  /// Sets the receiver; before the first message is put.
  void belongs_to(Taker taker) { taker_ = std::move(taker); }
  void join()
    requires(!std::is_pointer_v<Taker>)
  {
    taker_.join();
  }

  BENCH_INLINE void put(std::uint64_t message) {
    message_ = message;
    full_.store(true, std::memory_order_release);
    if constexpr (std::is_pointer_v<Taker>)
      taker_->unpark();
    else
      taker_.unpark();
  }

  BENCH_INLINE std::uint64_t take() {
    while (!full_.load(std::memory_order_acquire))
      park();
    full_.store(false, std::memory_order_relaxed);
    return message_;
  }

private:
  std::uint64_t message_ = 0;
  std::atomic<bool> full_{false};
  Taker taker_{};
};

}  // namespace bench
