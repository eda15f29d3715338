// When a worker wakes another for what is alone in its ring. It would come to that itself, and sooner, if
// its fibers are short; it can only tell afterwards. So it does it once in a while, less and less often as
// long as nobody takes any of it; and looks at the clock the less often the more of it there is.
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

class lone_calls {
public:
  // The owner, that has one and knows of a sleeper.
  [[gnu::always_inline]] bool due() noexcept { return --until_look_ == 0 && look(); }
  // Who has taken one: it paid.
  void paid() noexcept { pause_.store(shortest, std::memory_order_relaxed); }

private:
  static constexpr std::int64_t shortest = 50'000;  // nanoseconds
  static constexpr std::int64_t longest = 1'000'000;
  static constexpr unsigned most_unseen = 64;
  [[gnu::noinline, gnu::cold]] bool look() noexcept;

  unsigned until_look_ = 1;
  unsigned unseen_ = 1;  // until the next look after that
  std::atomic<std::int64_t> pause_{shortest};
  time_point next_{};
};

}  // namespace sennit::detail
