// Whether it pays that one worker helps another.
//
// A theft interrupts the CPU of its victim, and its loot comes by way of another cache; to wake a thief costs
// a system call. Fibers that run for nanoseconds are not worth these microseconds, and one can only tell
// afterwards: it paid if the two have been busy together for a while. So a worker lets the others be after a
// theft that did not, until it has slept, and calls sleepers less and less often as long as it does not pay.
//
// A sleeper that nobody calls comes all the same, when it is the watcher and looks (idling.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

// A worker's calls to those that sleep. While they do not pay it looks at the clock the less often the more
// work it makes.
class calls_for_help {
public:
  // Nanoseconds between two calls after one that paid. It is twice as much after each call since.
  explicit calls_for_help(std::int64_t at_first) : at_first_(at_first) {}

  // The owner, that has work for others and knows of a sleeper. How many search: then none is called.
  template <class Count>
  SENNIT_INLINE bool due(const Count& searching) noexcept {
    return --until_look_ == 0 && look(searching.load(std::memory_order_relaxed) != 0);
  }
  // Any worker.
  void paid() noexcept { pause_.store(at_first_, std::memory_order_relaxed); }

private:
  static constexpr std::int64_t shortest = 20'000;  // nanoseconds, after a call
  static constexpr std::int64_t longest = 1'000'000;
  static constexpr unsigned most_unseen = 64;
  [[gnu::noinline, gnu::cold]] bool look(bool searched) noexcept;

  const std::int64_t at_first_;
  std::atomic<std::int64_t> pause_{at_first_};
  unsigned until_look_ = 1;
  unsigned unseen_ = 1;  // until the next look after that
  time_point last_{};
};

// What a worker knows of the help it gives, and gets.
class help {
public:
  calls_for_help with_lone{50'000};  // who is alone in its ring: it would come to that itself
  calls_for_help with_several{0};

  // Whether its last theft of several paid; and whether another one is due.
  bool pays() const noexcept { return pays_; }
  bool due() const noexcept { return pays_ || slept_; }
  void slept() noexcept { slept_ = true; }

  // It has stolen so many.
  void gives(help& victim, std::size_t stolen) noexcept;
  // It has nothing to do any more.
  SENNIT_INLINE void falls_short() noexcept {
    if (to_ != nullptr || !is_short_.load(std::memory_order_relaxed)) [[unlikely]]
      note_that_it_is_short();
  }

private:
  static constexpr clock::duration theft_costs = std::chrono::microseconds(10);
  static constexpr clock::duration each_costs = std::chrono::nanoseconds(500);
  [[gnu::noinline]] void note_that_it_is_short() noexcept;

  bool pays_ = true;
  bool slept_ = false;  // since the last theft
  help* to_ = nullptr;  // whom it has stolen from, until it is short
  time_point pays_from_{};
  // As a victim: whether it has fallen short since the last theft, and when it first did.
  std::atomic<bool> is_short_{true};
  std::atomic<clock::rep> short_since_{0};
};

}  // namespace sennit::detail
