// What a thread under test has seen, or what a store publishes: of each location, how far in its modification
// order; of each thread, how far its own accesses are known to have happened.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace model {

inline constexpr unsigned most_threads = 5;  // the host is one
inline constexpr unsigned most_locations = 27;

// One cache line, joined by a vector maximum.
class alignas(64) view {
public:
  std::int16_t& location(unsigned l) { return at_[l]; }
  std::int16_t location(unsigned l) const { return at_[l]; }
  std::int16_t& clock(unsigned t) { return at_[most_locations + t]; }
  std::int16_t clock(unsigned t) const { return at_[most_locations + t]; }

  void join(const view& other) {
    for (unsigned i = 0; i < at_.size(); ++i)
      at_[i] = std::max(at_[i], other.at_[i]);
  }
  void join_locations(const view& other) {
    for (unsigned i = 0; i < most_locations; ++i)
      at_[i] = std::max(at_[i], other.at_[i]);
  }

private:
  std::array<std::int16_t, most_locations + most_threads> at_{};
};

}  // namespace model
