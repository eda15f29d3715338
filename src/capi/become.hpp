// How a C fiber continues with a function and some bytes, and without a stack until then.
#pragma once

#include <cstddef>
#include <cstring>
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
  c_state(const void* from, std::size_t size) noexcept { std::memcpy(bytes, from, size); }
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

// Calls `use` with a state of the smallest size that will do: beside a wait for a socket 16 bytes fit a
// descriptor, beside none 32.
template <class Use>
int with_state(const void* from, std::size_t size, Use use) {
  return guarded([&] {
    if (size == 0)
      use(c_state<0>(from, size));
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
// the caller's __builtin_dwarf_cfa().
template <class Wait>
int become(const char* what, const void* frame, Wait wait, sennit_function function, const void* state,
           std::size_t size) {
  if (function == nullptr || !is_state(state, size) || !in_fiber())
    return -EINVAL;
  return with_state(state, size, [&](auto kept) {
    detail::may_leave_frames(what, frame);
    detail::leave_frames(detail::block(std::move(wait), c_continuation{function}, std::move(kept)));
  });
}

}  // namespace sennit::inline v0_1::capi
