// How a C fiber continues with a function and some bytes, and without a stack until then.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "error.hpp"
#include "sennit/become.hpp"

namespace sennit::inline v0_1::capi {

constexpr std::size_t most_state = 2048;

inline bool is_state(const void* state, std::size_t size) noexcept {
  return size == 0 || (state != nullptr && size <= most_state);
}

// The state lies in the frame that calls the function, and nothing destroys it.
template <std::size_t Size>
struct c_state {
  c_state(const void* from, std::size_t size) noexcept { copy_bytes(bytes, from, size); }
  alignas(16) std::byte bytes[Size];
};
template <>
struct c_state<0> {
  c_state(const void*, std::size_t) noexcept {}
  static constexpr void* bytes = nullptr;
};
struct c_continuation {
  sennit_function function;
  template <class State, class... Result>
  void operator()(State& state, Result...) const {
    function(state.bytes);
  }
};

// What the waits bring, as a result.
inline int code_of() noexcept {
  return 0;
}
inline int code_of(int code) noexcept {
  return code;
}
inline int code_of(bool in_time) noexcept {
  return in_time ? 0 : -ETIMEDOUT;
}
// Of a function that gets the wait's result.
struct c_result_continuation {
  sennit_result_function function;
  template <class State, class... Result>
  void operator()(State& state, Result&&... result) const {
    function(state.bytes, code_of(std::forward<Result>(result)...));
  }
};

// Calls `use` with a state of the smallest size that will do: beside a wait for a socket 16 bytes fit a
// descriptor, beside none 32.
template <class Use>
int with_state(const void* from, std::size_t size, Use use) {
  return guarded([&] {
    if (size == 0)
      use(c_state<0>(from, size));
    else if (size <= 8)
      use(c_state<8>(from, size));
    else if (size <= 16)
      use(c_state<16>(from, size));
    else if (size <= 32)
      use(c_state<32>(from, size));
    else if (size <= 256)
      use(c_state<256>(from, size));
    else
      use(c_state<most_state>(from, size));
    return 0;
  });
}

// Leaves the frames of the caller, which is `what`, and of its callers; returns only when it fails. `frame`:
// the caller's __builtin_dwarf_cfa(). The wait may own something of the caller's, such as a lock or a handle,
// which the caller keeps if it fails: it is then not destroyed.
template <class Continuation = c_continuation, class Wait, class Function>
int become(const char* what, const void* frame, Wait&& made, Function function, const void* state,
           std::size_t size) {
  static_assert(!std::is_reference_v<Wait>);
  alignas(Wait) std::byte place[sizeof(Wait)];
  Wait& wait = *::new (static_cast<void*>(place)) Wait(std::move(made));
  if (function == nullptr || !is_state(state, size) || !in_fiber())
    return -EINVAL;
  return with_state(state, size, [&](auto kept) {
    detail::may_leave_frames(what, frame);
    detail::leave_frames_by(
        [&] { return detail::block(std::move(wait), Continuation{function}, std::move(kept)); });
  });
}

// Likewise, by a wait that gives up at a deadline unless that is SENNIT_NEVER.
template <class Continuation = c_continuation, class Wait, class Function>
int become_until(const char* what, const void* frame, Wait&& wait, Function function, const void* state,
                 std::size_t size, std::int64_t deadline) {
  if (deadline == SENNIT_NEVER)
    return become<Continuation>(what, frame, std::move(wait), function, state, size);
  return become<Continuation>(what, frame, detail::timed_wait(std::move(wait), time_of(deadline)), function,
                              state, size);
}
template <class Wait>
int become_with_result(const char* what, const void* frame, Wait&& wait, sennit_result_function function,
                       const void* state, std::size_t size, std::int64_t deadline) {
  return become_until<c_result_continuation>(what, frame, std::move(wait), function, state, size, deadline);
}

}  // namespace sennit::inline v0_1::capi
