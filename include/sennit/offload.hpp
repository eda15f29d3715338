// sennit::offload: runs a blocking function on another thread, while only the calling fiber waits.
// room: io
//
//   std::string text = sennit::offload([&] { return read_slowly(path); });
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/io/offload.hpp"

namespace sennit::inline v0_1 {

/// Calls a function on a thread of the process's pool and returns its result, or throws what it throws. The
/// caller waits until the function has returned, so that it may refer to the caller's variables. Outside of
/// fibers it is called directly.
///
/// - Pool: at most offload_threads() threads. They are started when they are needed, and end after 10 s
///   without work. All signals are blocked in them. If all are busy, calls wait in order, and only their
///   fibers wait. File operations use this pool as well. Name look-ups have a pool of their own
///   (look_up.hpp), so that neither can delay the other.
/// - Cancellation: if a stop_guard ends the wait, or the fiber's runtime ends, a call that has not begun is
///   withdrawn. A call that has begun is waited for, because nothing can stop it and it may use the fiber's
///   variables. Its result is lost.
///
/// \throws std::system_error if there is no thread and none can be started
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

/// The maximum number of threads of the pool, and of the pool for name look-ups: 64 by default. Any thread
/// may call it.
unsigned offload_threads() noexcept;
/// Sets the maximum number of threads of each of the two pools, at least 1. After a reduction, surplus
/// threads end when the function that they run returns. Any thread may call it.
void set_offload_threads(unsigned most) noexcept;

}  // namespace sennit::inline v0_1
