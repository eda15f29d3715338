// Waits without a stack that may end before the event comes: by a deadline, or a stop (stoppable_wait.hpp).
#pragma once

#include <cstdint>
#include <utility>

#include "sennit/detail/arch/either.hpp"
#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

// `Wait` is the wait without a deadline, and lets another waiter stand for the fiber. In a parallel runtime a
// deadline and a waker may come at the same time, and the claim decides which came first.
//
//   bool file(fiber& f, waiter& me) noexcept;  // me: the fiber, or a multi_wait_node of its wait
//   bool leave(waiter& me) noexcept;           // gives up; returns false if it was taken out before
//   result end_by(time_point deadline, bool in_time);  // replaces end(), if the result depends on that
//   void settle(time_point deadline);  // if it may have to wait for more after a wake
//
// Others hold its address, and it is too large for a descriptor. It is not moved while it is filed.
template <class Wait>
class timed_wait : public continuation_wait {
public:
  static constexpr const char* reason = Wait::reason;
  timed_wait(Wait&& wait, time_point deadline) noexcept : wait_(std::move(wait)), deadline_(deadline) {}
  timed_wait(timed_wait&& other) noexcept : timed_wait(std::move(other.wait_), other.deadline_) {}

  bool file(fiber& f, token_watch* stop = nullptr) noexcept {
    if (f.home->is_local()) {
      if (!wait_.file(f, f))
        return false;
      if (deadline_ != never)
        known_.emplace<local_timer>(f.home->deadlines, f, deadline_);
      if (stop != nullptr)
        token_watch_arm(*stop, f);
      return true;
    }
    auto& claim = known_.emplace<multi_wait>(reason, deadline_, f);
    if (wait_.file(f, claim.node()))
      return claim.file(stop);
    known_.clear();
    return false;
  }
  bool withdraw(fiber&) noexcept {
    multi_wait& claim = *known_.get<multi_wait>();
    const bool withdrawn = claim.withdraw();
    if (withdrawn)
      wait_.leave(claim.node());
    return withdrawn;
  }
  void leave(fiber& self, std::uintptr_t& word, fiber_status& why) noexcept {
    if (auto* claim = known_.get<multi_wait>()) {
      const bool served = claim->was_served();
      if (!served)
        wait_.leave(claim->node());
      word = claim->word();
      if (served)
        why = fiber_status::notified;
      else if (why != fiber_status::stopped)
        why = fiber_status::timed_out;
    } else if (why != fiber_status::notified) {
      wait_.leave(self);
    }
    known_.clear();
  }
  void settle()
    requires requires(Wait& wait, time_point deadline) { wait.settle(deadline); }
  {
    wait_.settle(deadline_);
  }
  auto end(fiber& self, std::uintptr_t word, fiber_status why) {
    if constexpr (requires { wait_.end_by(deadline_, true); })
      return wait_.end_by(deadline_, why == fiber_status::notified);
    else
      return wait_.end(self, word, why);
  }

  SENNIT_PLACE_OF(wait_at, timed_wait, wait_)
  static constexpr std::size_t object_at() noexcept
    requires says_object<Wait>
  {
    return object_within<Wait>(wait_at());
  }

private:
  Wait wait_;
  time_point deadline_;
  either<local_timer, multi_wait> known_;
};

}  // namespace sennit::inline v0_1::detail
