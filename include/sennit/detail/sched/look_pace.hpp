// How often a busy worker looks at what comes from outside.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sennit/run_policy.hpp"

namespace sennit::detail {

// A busy worker looks at what comes from outside (posts, deadlines, I/O) after so many dispatches; or after
// fewer, where they take so long that looks would be more than longest_look_period apart; or, while nothing
// comes and they are so quick that looks would follow each other within shortest_look_period, after up to
// longest_poll_interval: a look takes 30 ns, as the processor foretells wrongly what comes after it, and a
// system call where there is I/O. (Where quick turns suddenly become slow ones, a look comes late, once.)
#if !defined(SENNIT_POLL_INTERVAL)  // tests make it small
#define SENNIT_POLL_INTERVAL 61
#endif
#if !defined(SENNIT_LONGEST_POLL_INTERVAL)
#define SENNIT_LONGEST_POLL_INTERVAL (8 * SENNIT_POLL_INTERVAL)
#endif
inline constexpr unsigned poll_interval = SENNIT_POLL_INTERVAL;
inline constexpr unsigned longest_poll_interval = SENNIT_LONGEST_POLL_INTERVAL;
inline constexpr std::uint64_t shortest_look_period = 16'000;  // ns
inline constexpr std::uint64_t longest_look_period = 16 * shortest_look_period;

// What a look came upon: nothing; posts, or I/O (that a deadline had passed is nothing: it does not say that
// others follow); or it was made after a rest, whose length says nothing of dispatches.
enum class look_result : std::uint8_t { in_vain, found, rested };

// How many dispatches are to pass until the next look.
class look_pace {
public:
  // After so many in vain they are made half as often.
  static constexpr unsigned patience = 16;

  // With lifo, what a look makes ready goes first: were looks ever more frequent, those who come by them
  // again and again (short deadlines) would keep all others from running.
  explicit constexpr look_pace(run_policy policy) noexcept
      : fewest_(policy == run_policy::lifo ? poll_interval : 1) {}

  // One was made `passed` nanoseconds after the last.
  unsigned next(std::uint64_t passed, look_result what) noexcept {
    if (what != look_result::in_vain)
      often();
    if (what != look_result::rested) {
      if (passed > longest_look_period)
        dispatches_ = std::max(std::min(dispatches_, poll_interval) / 2, fewest_);
      else if (passed < shortest_look_period)
        slow_down();
    }
    return dispatches_;
  }
  // At least as often as at first: what was in vain says nothing of what comes.
  void often() noexcept {
    dispatches_ = std::min(dispatches_, poll_interval);
    in_vain_ = 0;
  }

private:
  // Dispatches are quick: there need not be a look so soon.
  void slow_down() noexcept {
    if (dispatches_ < poll_interval) {
      dispatches_ = std::min(2 * dispatches_, poll_interval);
    } else if (dispatches_ < longest_poll_interval && ++in_vain_ > patience) {
      dispatches_ *= 2;
      in_vain_ = 0;
    }
  }

  unsigned fewest_;
  unsigned dispatches_ = poll_interval;
  unsigned in_vain_ = 0;
};

}  // namespace sennit::detail
