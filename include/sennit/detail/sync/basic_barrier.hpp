// Barriers over either policy (basic_wait_queue.hpp).
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sync/queue_wait.hpp"

namespace sennit::inline v0_1 {

/// The completion of a barrier that does nothing at the end of a phase.
struct no_completion {
  /// Does nothing.
  void operator()() noexcept {}
};

}  // namespace sennit::inline v0_1

namespace sennit::inline v0_1::detail {

/// The members of sennit::barrier and sennit::local::barrier.
template <class Policy, class Completion>
class basic_barrier {
  using queue = basic_wait_queue<Policy>;
  using state = typename queue::state;

public:
  /// Names the phase in which arrive() was called, for wait().
  class arrival_token {
    friend basic_barrier;
    explicit arrival_token(state phase) : phase_(phase) {}
    state phase_;
  };

  /// `expected` is the number of arrivals in each phase, at least 1 (asserted).
  explicit basic_barrier(std::size_t expected, Completion completion = {})
      : expected_(expected), missing_(expected), completion_(std::move(completion)) {
    assert(expected != 0 && "sennit: a barrier for no fiber");
  }

  /// Arrives, `count` times, without waiting.
  ///
  /// \returns a token of the phase, for wait()
  [[nodiscard]] arrival_token arrive(std::size_t count = 1) { return arrive_and(count, 0); }
  /// Waits until the phase of the token has ended.
  SENNIT_INLINE void wait(arrival_token&& token) {
    const until_over over(token.phase_);
    if (queue_.peek(std::memory_order_acquire) == token.phase_ &&
        !queue_.wait_inline(until_over::reason, over)) [[unlikely]]
      queue_.wait(until_over::reason, never, over);
  }
  /// Arrives and waits until the phase has ended, in one step: no waiter wakes before the caller waits too,
  /// or has returned.
  SENNIT_INLINE void arrive_and_wait() {
    if constexpr (!Policy::is_shared)
      return wait(arrive());
    bool last = false;
    const auto arrives = [this, &last](state&) {
      last = missing_ == 1;
      if (!last)
        --missing_;
      return last;
    };
    if (!queue_.wait_inline(until_over::reason, arrives)) [[unlikely]]
      queue_.wait(until_over::reason, never, arrives);
    if (last)
      static_cast<void>(arrive());
  }
  /// wait() without a stack, for become(). The function gets no result.
  auto waiting(arrival_token&& token) noexcept {
    return queue_wait<queue, until_over>(queue_, until_over(token.phase_));
  }
  /// arrive_and_wait() without a stack, for become(). It has arrived when this call returns.
  auto arriving() { return waiting(arrive()); }
  /// Arrives without waiting. This phase and all later ones expect one arrival less.
  void arrive_and_drop() { static_cast<void>(arrive_and(1, 1)); }

private:
  struct until_over : queue_rule {
    static constexpr const char* reason = "barrier";
    explicit until_over(state begun) noexcept : phase(begun) {}
    state phase;
    bool operator()(state& now) const noexcept { return now != phase; }
  };

  arrival_token arrive_and(std::size_t count, std::size_t dropped) {
    state before = 0;
    queue_.wake_all_if([&](state& phase) {
      before = phase;
      assert(count <= missing_ && "sennit: more arrive at a barrier than it expects");
      expected_ -= dropped;
      missing_ -= count;
      if (missing_ != 0)
        return false;
      complete();
      missing_ = expected_;
      ++phase;
      return true;
    });
    return arrival_token(before);
  }

  // Under the queue's lock.
  void complete() {
    const no_switch_here<!std::is_same_v<Completion, no_completion>, switch_in::completion> meanwhile;
    completion_();
  }

  queue queue_;           // the state: the phase
  std::size_t expected_;  // these under the queue's lock
  std::size_t missing_;
  Completion completion_;
};

}  // namespace sennit::inline v0_1::detail
