// How often a busy worker looks at what comes from outside.
#pragma once

#include <cstdint>

namespace sennit::detail {

// After this many dispatches a worker looks at what comes from outside: posts, deadlines, I/O.
#if !defined(SENNIT_POLL_INTERVAL)  // tests make it small
#define SENNIT_POLL_INTERVAL 61
#endif
inline constexpr unsigned poll_interval = SENNIT_POLL_INTERVAL;
// Or up to so many, while nothing comes, and fibers take turns so quickly that looks would follow each other
// within look_period: one takes 30 ns, as the processor foretells wrongly what comes after it, and a system
// call where there is I/O. (Where turns then suddenly take long, the first look comes so much later, once.)
#if !defined(SENNIT_LONGEST_POLL_INTERVAL)
#define SENNIT_LONGEST_POLL_INTERVAL (8 * SENNIT_POLL_INTERVAL)
#endif
inline constexpr unsigned longest_poll_interval = SENNIT_LONGEST_POLL_INTERVAL;
inline constexpr std::uint64_t look_period = 16'000;  // ns

// How many dispatches are to pass until the next look.
class look_pace {
public:
  // After so many looks that found nothing they are made half as often.
  static constexpr unsigned patience = 16;

  // A look was made `passed` nanoseconds after the last one. (That a deadline had passed is nothing found: it
  // does not say that others follow.)
  unsigned next(std::uint64_t passed, bool found) noexcept {
    if (found || passed > 4 * look_period) {
      often();
    } else if (passed < look_period && dispatches_ < longest_poll_interval && ++in_vain_ == patience) {
      dispatches_ *= 2;
      in_vain_ = 0;
    }
    return dispatches_;
  }
  // What has been until now says nothing of what will be.
  void often() noexcept {
    dispatches_ = poll_interval;
    in_vain_ = 0;
  }

private:
  unsigned dispatches_ = poll_interval;
  unsigned in_vain_ = 0;
};

}  // namespace sennit::detail
