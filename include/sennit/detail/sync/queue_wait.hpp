// Waiting in a wait queue without a stack (become.hpp).
#pragma once

#include <cstdint>

#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"

namespace sennit::detail {

// `Rule` says what is waited for, and is kept meanwhile:
//
//   static constexpr const char* reason
//   bool operator()(state& now)   under the lock; true: it need not wait
//   result end()                  on a stack again
template <class Queue, class Rule>
class queue_wait : public continuation_wait {
public:
  static constexpr const char* reason = Rule::reason;
  explicit queue_wait(Queue& queue, Rule rule = {}) noexcept : queue_(&queue), rule_(rule) {}
  bool file(fiber& f) noexcept { return queue_->file(f, rule_, reason); }
  bool withdraw(fiber& f) noexcept { return queue_->withdraw(f); }
  auto end(fiber&, std::uintptr_t, fiber_status) { return rule_.end(); }

private:
  Queue* queue_;
  Rule rule_;
};

}  // namespace sennit::detail
