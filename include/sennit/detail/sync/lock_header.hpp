// The first bytes of a mutex or a condition variable.
#pragma once

#include <cstdint>

#include "sennit/detail/sched/fiber.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::inline v0_1::detail {

// The rules for waiters.
class lock_options {
public:
  constexpr explicit lock_options(const wait_options& from) noexcept
      : bits_(static_cast<std::uint8_t>((from.order == wait_order::recent ? newest_first : 0) |
                                        (from.wake == wake_policy::enter ? enters : 0) |
                                        (from.fairness == fairness::fair ? is_fair : 0))) {}
  bool newest() const noexcept { return (bits_ & newest_first) != 0; }
  bool enter() const noexcept { return (bits_ & enters) != 0; }
  bool fair() const noexcept { return (bits_ & is_fair) != 0; }
  bool usual_order() const noexcept { return (bits_ & (newest_first | enters)) == 0; }

private:
  enum : std::uint8_t { newest_first = 1, enters = 2, is_fair = 4 };
  std::uint8_t bits_;
};

struct lock_header {
  constexpr explicit lock_header(const wait_options& from) noexcept : options(from) {}
  lock_owner owner;  // first: waits know a mutex by its address
  lock_options options;
};

}  // namespace sennit::inline v0_1::detail
