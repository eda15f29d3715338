// The rare part of steal_throttle.hpp: everything that reads the clock.
#include "sennit/detail/parallel/steal_throttle.hpp"

#include <algorithm>

namespace sennit::inline v0_1::detail {

bool wake_throttle::look(bool searched) noexcept {
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

void steal_throttle::note_theft(steal_throttle& victim, std::size_t stolen) noexcept {
  last_victim_ = &victim;
  pays_from_ = clock::now() + theft_costs + stolen * each_costs;
  victim.is_idle_.store(false, std::memory_order_relaxed);
}

void steal_throttle::note_idle() noexcept {
  const time_point now = clock::now();
  if (!is_idle_.load(std::memory_order_relaxed)) {
    idle_since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    is_idle_.store(true, std::memory_order_release);
  }
  if (last_victim_ == nullptr)
    return;
  time_point both_until = now;
  if (last_victim_->is_idle_.load(std::memory_order_acquire))
    both_until = time_point(clock::duration(last_victim_->idle_since_.load(std::memory_order_relaxed)));
  pays_ = both_until >= pays_from_;
  slept_ = false;
  if (pays_)
    last_victim_->wake_for_several.paid();
  last_victim_ = nullptr;
}

}  // namespace sennit::inline v0_1::detail
