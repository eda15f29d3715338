// sennit::once_flag, sennit::call_once: something that is done once, by whoever comes first.
// room: sync
//
//   static sennit::once_flag opened;
//   sennit::call_once(opened, [] { open_log(); });  // others wait until it is done
#pragma once

#include <functional>
#include <utility>

#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// As std::once_flag: if the function throws, the next one tries.
class once_flag {
public:
  constexpr once_flag() noexcept = default;

private:
  template <class Function, class... Arguments>
  friend void call_once(once_flag& flag, Function&& function, Arguments&&... arguments);

  static constexpr detail::wait_queue::state undone = 0;
  static constexpr detail::wait_queue::state begun = 1;
  static constexpr detail::wait_queue::state done = 2;

  bool is_done() const noexcept { return queue_.peek(std::memory_order_acquire) == done; }
  bool begin();  // false: it was done meanwhile
  void end(bool successful) noexcept { queue_.wake_all(successful ? done : undone); }

  detail::wait_queue queue_;
};

template <class Function, class... Arguments>
void call_once(once_flag& flag, Function&& function, Arguments&&... arguments) {
  if (flag.is_done() || !flag.begin())
    return;
  struct ending {
    once_flag& of;
    bool successful = false;
    ~ending() { of.end(successful); }
  } at_end{flag};
  std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
  at_end.successful = true;
}

}  // namespace sennit
