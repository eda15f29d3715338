// sennit::offload: a blocking function runs on another thread, and only the calling fiber waits.
// room: io
//
//   std::string text = sennit::offload([&] { return read_slowly(path); });
//
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/io/offload.hpp"

namespace sennit {

// Calls `function` on a thread of the process's pool and returns its result, or throws what it threw. It may
// refer to the caller's variables: the caller waits until it has returned. Outside of a fiber it is called at
// once, on the spot.
//
//   pool     At most offload_threads() threads, started when they are needed, ended when they have had
//            nothing to do for 10 s; all signals are blocked in them. When all are busy, calls wait in their
//            order, and with them only their fibers. File operations use this pool. Name look-ups have a pool
//            of their own (look_up.hpp), so that neither can delay the other.
//   errors   std::system_error when there is no thread and none can be started.
//   unwind   When the runtime of the fiber ends: a call that has not begun is withdrawn; one that has is
//            waited for, since nothing can stop it and it may use the fiber's variables. So it is when a stop
//            is requested (stop_guard.hpp); what the call returned is lost then.
template <class Function>
std::invoke_result_t<Function&> offload(Function&& function) {
  using result = std::invoke_result_t<Function&>;
  static_assert(!std::is_reference_v<result>, "an offloaded function returns a value, or nothing");
  if (!detail::in_fiber())
    return function();
  if constexpr (std::is_void_v<result>) {
    detail::offload_in_place(function);
  } else {
    std::optional<result> value;
    detail::offload_in_place([&] { value.emplace(function()); });
    return std::move(*value);
  }
}

// The maximum number of threads of the pool, and of that of name look-ups, each; 64 by default, at least 1.
// After a reduction, surplus threads end when the function that they run returns. Any thread may call these.
unsigned offload_threads() noexcept;
void set_offload_threads(unsigned most) noexcept;

}  // namespace sennit
