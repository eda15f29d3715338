// Waiting in a wait queue without a stack (become.hpp), and until a deadline.
#pragma once

#include <cstdint>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"

namespace sennit::inline v0_1::detail {

// `Rule` defines the wait, and is stored while the fiber waits:
//
//   static constexpr const char* reason
//   bool operator()(state& now)   under the lock; true: no wait is needed
//   bool end(time_point deadline) on a stack, after the wake-up; false: it failed before the deadline
//   void settle(time_point)       optional: the part of end() that may wait; end() is called after it
//   bool is_over()                like end() without another wait; for a wait without a deadline
//   void gave_up()                the waiter has left the queue without a wake-up
//   object_at()                   as of a wait; without it, the object is the queue
struct queue_rule {
  static bool end(time_point) noexcept { return true; }
  static void gave_up() noexcept {}
};

template <class Queue, class Rule>
class queue_wait : public continuation_wait {
public:
  static constexpr const char* reason = Rule::reason;
  SENNIT_PLACE_OF(queue_at, queue_wait, queue_)
  SENNIT_PLACE_OF(rule_at, queue_wait, rule_)
  static constexpr std::size_t object_at() noexcept {
    if constexpr (says_object<Rule>)
      return object_within<Rule>(rule_at());
    else
      return queue_at();
  }
  explicit queue_wait(Queue& queue, Rule rule = {}) noexcept : queue_(&queue), rule_(rule) {}
  bool file(fiber& f) noexcept { return file(f, f); }
  bool withdraw(fiber& f) noexcept { return leave(f); }
  void end(fiber&, std::uintptr_t, fiber_status) { rule_.end(never); }
  bool is_over() noexcept
    requires requires(Rule& rule) { rule.is_over(); }
  {
    return rule_.is_over();
  }

  // For timed_wait.
  bool file(fiber& f, waiter& me) noexcept { return queue_->file(f, me, rule_, reason); }
  bool leave(waiter& me) noexcept {
    const bool left = queue_->leave(me);
    if (left)
      rule_.gave_up();
    return left;
  }
  bool end_by(time_point deadline, bool in_time) { return in_time && rule_.end(deadline); }
  void settle(time_point deadline)
    requires requires(Rule& rule) { rule.settle(deadline); }
  {
    rule_.settle(deadline);
  }

private:
  Queue* queue_;
  Rule rule_;
};

}  // namespace sennit::inline v0_1::detail
