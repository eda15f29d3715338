// How often a busy worker polls for external events.
#pragma once

#include <cstdint>

#include "sennit/run_policy.hpp"

namespace sennit::inline v0_1::detail {

// A busy worker polls for external events (posts, deadlines, I/O) after this many dispatches. If dispatches
// take so long that polls would be more than longest_poll_period apart, it polls after fewer. While nothing
// comes, and polls would follow each other within shortest_poll_period, it polls after up to
// longest_poll_interval dispatches. A poll takes 30 ns, because the processor mispredicts what comes after
// it, and with I/O a system call. (When quick turns suddenly become slow, one poll is late.)
//
// A dispatch during which the kernel ran other threads on the worker's CPU seems slow, too. So once many
// polls have been well within longest_poll_period, they become rarer again.
#if !defined(SENNIT_POLL_INTERVAL)  // tests make it small
#define SENNIT_POLL_INTERVAL 61
#endif
#if !defined(SENNIT_LONGEST_POLL_INTERVAL)
#define SENNIT_LONGEST_POLL_INTERVAL (8 * SENNIT_POLL_INTERVAL)
#endif
inline constexpr unsigned poll_interval = SENNIT_POLL_INTERVAL;
inline constexpr unsigned longest_poll_interval = SENNIT_LONGEST_POLL_INTERVAL;
inline constexpr std::uint64_t shortest_poll_period = 16'000;  // ns
inline constexpr std::uint64_t longest_poll_period = 16 * shortest_poll_period;

// The result of a poll: nothing; posts or I/O; or it was made after a rest, whose length says nothing about
// dispatches. A passed deadline counts as nothing, because it does not mean that others follow.
enum class poll_result : std::uint8_t { nothing, found, rested };

// How many dispatches pass until the next poll.
class adaptive_poll_interval {
public:
  // After this many polls in vain, or too soon, polls become half as frequent.
  static constexpr unsigned patience = 16;

  // With lifo, fibers that a poll makes ready run first. If polls became ever more frequent, fibers with
  // short deadlines would keep all others from running.
  explicit constexpr adaptive_poll_interval(run_policy policy) noexcept
      : fewest_(policy == run_policy::lifo ? poll_interval : 1) {}

  // Called after a poll, `passed` nanoseconds after the last one. Returns the number of dispatches until the
  // next.
  unsigned next(std::uint64_t passed, poll_result what) noexcept {
    if (what != poll_result::nothing)
      often();
    if (what != poll_result::rested) {
      if (passed > longest_poll_period)
        speed_up();
      else if (passed < shortest_poll_period)
        slow_down();
      else if (passed < longest_poll_period / 2)
        recover();
    }
    return dispatches_;
  }
  // Polls at least as often as at first: polls in vain say nothing about the events to come.
  void often() noexcept {
    limit(poll_interval);
    empty_polls_ = 0;
  }

private:
  void limit(unsigned most) noexcept { dispatches_ = dispatches_ < most ? dispatches_ : most; }
  // Dispatches are slow, so polls must be more frequent.
  void speed_up() noexcept {
    limit(poll_interval);
    dispatches_ = dispatches_ / 2 > fewest_ ? dispatches_ / 2 : fewest_;
    soon_polls_ = 0;
  }
  // Dispatches are quick, so polls can be rarer.
  void slow_down() noexcept {
    if (dispatches_ < poll_interval) {
      dispatches_ *= 2;
      limit(poll_interval);
    } else if (dispatches_ < longest_poll_interval && ++empty_polls_ > patience) {
      dispatches_ *= 2;
      empty_polls_ = 0;
    }
  }

  // Dispatches are not so slow that polls must be this frequent.
  void recover() noexcept {
    if (dispatches_ < poll_interval && ++soon_polls_ > patience) {
      dispatches_ *= 2;
      limit(poll_interval);
      soon_polls_ = 0;
    }
  }

  unsigned fewest_;
  unsigned dispatches_ = poll_interval;
  unsigned empty_polls_ = 0;
  unsigned soon_polls_ = 0;
};

}  // namespace sennit::inline v0_1::detail
