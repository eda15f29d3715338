// Waiting without a stack until a stop is requested.
#pragma once

#include <concepts>
#include <cstdint>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/cont/waits.hpp"
#include "sennit/detail/wait/token_watch.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit::inline v0_1::detail {

// A wait that something else may end already has a claim, which serves for a stop, too.
template <class Wait>
concept has_claim = requires(Wait& wait, fiber& f, token_watch* stop) {
  { wait.file(f, stop) } -> std::same_as<bool>;
};

template <has_claim Wait>
Wait multi_wait_form(Wait&& wait) noexcept {
  return std::move(wait);
}
template <may_have_claim Wait>
auto multi_wait_form(Wait&& wait) noexcept {
  return timed_wait(std::move(wait), never);
}
inline timed_park_wait multi_wait_form(park_wait&&) noexcept {
  return timed_park_wait(never);
}
template <class Wait>
concept may_be_stopped = requires(Wait&& wait) { multi_wait_form(std::move(wait)); };

// `Wait` has a claim. It is filed with a token_watch, and may have
//
//   void settle();   waits for more, if it may have to, on a stack, before end()
template <class Wait>
class stoppable_wait : public continuation_wait {
public:
  static constexpr const char* reason = Wait::reason;
  stoppable_wait(Wait&& wait, std::stop_token&& token) : wait_(std::move(wait)), stop_(std::move(token)) {}

  bool file(fiber& f) noexcept { return wait_.file(f, &stop_); }
  bool withdraw(fiber& f) noexcept { return wait_.withdraw(f); }
  void leave(fiber& self, std::uintptr_t& word, fiber_status& why) noexcept {
    if (stop_.end())
      why = fiber_status::stopped;
    if constexpr (waits_in_place<Wait>)
      wait_.leave(self, word, why);
  }
  auto end(fiber& self, std::uintptr_t word, fiber_status why) {
    if constexpr (requires { wait_.settle(); })
      if (why == fiber_status::notified)
        settle(why);
    if constexpr (std::is_void_v<decltype(wait_.end(self, word, why))>) {
      wait_.end(self, word, why);
      return why != fiber_status::stopped;
    } else {
      return wait_.end(self, word, why);
    }
  }

  SENNIT_PLACE_OF(wait_at, stoppable_wait, wait_)
  static constexpr std::size_t object_at() noexcept
    requires says_object<Wait>
  {
    return object_within<Wait>(wait_at());
  }

private:
  void settle(fiber_status& why) {
    try {
      const stop_guard guard(stop_.token());
      wait_.settle();
    } catch (const cancelled&) {
      why = fiber_status::stopped;
    }
  }

  Wait wait_;
  token_watch stop_;  // destroyed first: it refers to the claim
};

}  // namespace sennit::inline v0_1::detail
