// The rare part of help.hpp: everything that reads the clock.
#include "sennit/detail/parallel/help.hpp"

#include <algorithm>

namespace sennit::detail {

bool calls_for_help::look(bool searched) noexcept {
  if (searched) {
    until_look_ = 1;
    return false;
  }
  const time_point now = clock::now();
  const std::int64_t pause = pause_.load(std::memory_order_relaxed);
  const bool late = now - last_ >= std::chrono::nanoseconds(pause);
  until_look_ = unseen_ = late ? 1 : std::min(2 * unseen_, most_unseen);
  if (late) {
    pause_.store(std::clamp(2 * pause, shortest, longest), std::memory_order_relaxed);
    last_ = now;
  }
  return late;
}

void help::gives(help& victim, std::size_t stolen) noexcept {
  to_ = &victim;
  pays_from_ = clock::now() + theft_costs + stolen * each_costs;
  victim.is_short_.store(false, std::memory_order_relaxed);
}

void help::note_that_it_is_short() noexcept {
  const time_point now = clock::now();
  if (!is_short_.load(std::memory_order_relaxed)) {
    short_since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    is_short_.store(true, std::memory_order_release);
  }
  if (to_ == nullptr)
    return;
  time_point both_until = now;
  if (to_->is_short_.load(std::memory_order_acquire))
    both_until = time_point(clock::duration(to_->short_since_.load(std::memory_order_relaxed)));
  pays_ = both_until >= pays_from_;
  slept_ = false;
  if (pays_)
    to_->with_several.paid();
  to_ = nullptr;
}

}  // namespace sennit::detail
