// Flags of what is done once, over either wait queue (basic_wait_queue.hpp).
#pragma once

#include <functional>
#include <utility>

#include "sennit/detail/sched/wait.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"

namespace sennit::detail {

template <class Queue>
class basic_once_flag {
public:
  constexpr basic_once_flag() noexcept = default;

private:
  template <class Of, class Function, class... Arguments>
  friend void call_once(basic_once_flag<Of>& flag, Function&& function, Arguments&&... arguments);

  using state = typename Queue::state;
  static constexpr state undone = 0;
  static constexpr state done = 2;
  // While the function runs: an odd number made of the address of the fiber, or thread, that runs it.
  static state begun_by(const void* who) noexcept { return reinterpret_cast<state>(who) >> 2 | 1; }

  bool is_done() const noexcept { return queue_.peek(std::memory_order_acquire) == done; }
  // Returns false if the function has succeeded elsewhere meanwhile: then the flag may be gone.
  bool begin();
  void end(bool successful) noexcept;

  Queue queue_;
};

template <class Queue, class Function, class... Arguments>
void call_once(basic_once_flag<Queue>& flag, Function&& function, Arguments&&... arguments) {
  if (flag.is_done() || !flag.begin())
    return;
  struct ending {
    basic_once_flag<Queue>& of;
    bool successful = false;
    ~ending() { of.end(successful); }
  } at_end{flag};
  std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
  at_end.successful = true;
}

}  // namespace sennit::detail
