// Random deadlines: such as never come while a program runs, and such as come at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace bench {

using deadline_clock = std::chrono::steady_clock;

class random_deadlines {
public:
  /// In 10 to 20 minutes.
  deadline_clock::time_point far() {
    return deadline_clock::now() + std::chrono::nanoseconds(600'000'000'000 + below(600'000'000'000));
  }
  /// So soon that of n fibers that wait for one each, again and again, one is always due: one each 20 ns.
  deadline_clock::time_point soon(std::size_t n) {
    return deadline_clock::now() + std::chrono::nanoseconds(1 + below(static_cast<std::int64_t>(n) * 40));
  }

private:
  std::int64_t below(std::int64_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::int64_t>(state_ % static_cast<std::uint64_t>(bound));
  }
  std::uint64_t state_ = 88172645463325252;
};

}  // namespace bench
