// Decides whether it pays for one worker to help another.
//
// A theft interrupts the victim's CPU, and the loot comes through another cache. Waking a thief costs a
// system call. Fibers that run for nanoseconds are not worth these microseconds. This shows only afterwards:
// a theft paid if both workers have been busy for a while. So after a theft that did not pay, a worker does
// not steal again until it has slept. A worker also calls sleepers less and less often while that does not
// pay.
//
// Even without a call, a sleeper comes when it is the watcher and looks (idling.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::inline v0_1::detail {

// A worker's calls to sleepers. While they do not pay, it reads the clock less often the more work it makes.
class wake_throttle {
public:
  // The nanoseconds between two calls, after a call that paid. Each call doubles the pause.
  explicit wake_throttle(std::int64_t at_first) : at_first_(at_first) {}

  // Called by the owner, which has work for others and sees a sleeper. If any worker searches, no sleeper is
  // called.
  template <class Count>
  SENNIT_INLINE bool due(const Count& searching) noexcept {
    return --until_look_ == 0 && look(searching.load(std::memory_order_relaxed) != 0);
  }
  // Called by any worker.
  void paid() noexcept { pause_.store(at_first_, std::memory_order_relaxed); }

private:
  static constexpr std::int64_t shortest = 20'000;  // nanoseconds, after a call
  static constexpr std::int64_t longest = 1'000'000;
  static constexpr unsigned most_unseen = 64;
  [[gnu::noinline, gnu::cold]] bool look(bool searched) noexcept;

  const std::int64_t at_first_;
  std::atomic<std::int64_t> pause_{at_first_};
  unsigned until_look_ = 1;
  unsigned unseen_ = 1;  // the calls of due() from the last look to the next
  time_point last_{};
};

// A worker's record of the help that it gives and gets.
class steal_throttle {
public:
  wake_throttle wake_for_lone{50'000};  // for a ring with one fiber, which its owner would soon run itself
  wake_throttle wake_for_several{0};

  // pays(): whether its last theft of several fibers paid. due(): whether another theft is due.
  bool pays() const noexcept { return pays_; }
  bool may_steal() const noexcept { return pays_ || slept_; }
  void slept() noexcept { slept_ = true; }

  // Called after it has stolen `stolen` fibers from `victim`.
  void note_theft(steal_throttle& victim, std::size_t stolen) noexcept;
  // Called when it runs out of work.
  SENNIT_INLINE void became_idle() noexcept {
    if (last_victim_ != nullptr || !is_idle_.load(std::memory_order_relaxed)) [[unlikely]]
      note_idle();
  }

private:
  static constexpr clock::duration theft_costs = std::chrono::microseconds(10);
  static constexpr clock::duration each_costs = std::chrono::nanoseconds(500);
  [[gnu::noinline]] void note_idle() noexcept;

  bool pays_ = true;
  bool slept_ = false;                     // since the last theft
  steal_throttle* last_victim_ = nullptr;  // the last victim, until this worker runs out of work
  time_point pays_from_{};
  // As a victim: whether it has run out of work since the last theft, and when it first did.
  std::atomic<bool> is_idle_{true};
  std::atomic<clock::rep> idle_since_{0};
};

}  // namespace sennit::inline v0_1::detail
