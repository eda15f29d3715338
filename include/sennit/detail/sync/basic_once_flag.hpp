// Once flags over either policy (basic_wait_queue.hpp).
#pragma once

#include <utility>

#include "sennit/detail/cont/invoke.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

/// The state of call_once().
template <class Policy>
class basic_once_flag {
public:
  /// A flag with which no function was called.
  constexpr basic_once_flag() noexcept = default;

private:
  template <class Of, class Function, class... Arguments>
  friend void call_once(basic_once_flag<Of>& flag, Function&& function, Arguments&&... arguments);

  using queue = basic_wait_queue<Policy>;
  using state = typename queue::state;
  static constexpr state undone = 0;
  static constexpr state done = 2;
  // While the function runs: an odd number made of the address of the fiber, or thread, that runs it.
  static state begun_by(const void* who) noexcept { return reinterpret_cast<state>(who) >> 2 | 1; }

  bool is_done() const noexcept { return queue_.peek(std::memory_order_acquire) == done; }
  // Returns false if the function has succeeded elsewhere meanwhile: then the flag may be gone.
  bool begin();
  void end(bool successful) noexcept;

  queue queue_;
};

/// Like `std::call_once`: calls `function(arguments...)`, unless a call with this flag has returned before.
/// Ignores its result. The function may block.
///
/// Calls that come while the function runs wait until it has returned. If it throws, the exception leaves
/// the call that made it, and the next caller calls its own function. A wait throws sennit::cancelled if a
/// stop_guard ends it; the function of that caller is not called.
///
/// A call with the same flag inside the function is misuse, which is fatal.
template <class Policy, class Function, class... Arguments>
void call_once(basic_once_flag<Policy>& flag, Function&& function, Arguments&&... arguments) {
  if (flag.is_done() || !flag.begin())
    return;
  struct ending {
    basic_once_flag<Policy>& of;
    bool successful = false;
    ~ending() { of.end(successful); }
  } at_end{flag};
  detail::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
  at_end.successful = true;
}

}  // namespace sennit::inline v0_1::detail
