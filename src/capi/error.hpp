// How C++ errors reach C: as a negated errno. And the helpers that every wrapper needs.
#pragma once

#include <cxxabi.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "sennit/detail/io/offload.hpp"
#include "sennit/sennit.h"

namespace sennit::inline v0_1::capi {

// The error's number, negated; never 0.
int negated(const std::error_code& error) noexcept;

// Like negated_error(), for the exception that is being handled.
int negated_exception() noexcept;

inline int result_of(const std::error_code& error) noexcept {
  return error ? negated(error) : 0;
}

inline ssize_t count_of(std::size_t count, const std::error_code& error) noexcept {
  return error ? negated(error) : static_cast<ssize_t>(count);
}

// Calls `function`, which returns a result for C. An exception becomes an error result, except forced unwind
// and a thread's cancellation, which propagate.
template <class Function>
SENNIT_INLINE auto guarded(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const detail::forced_unwind&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return negated_exception();
  }
}

inline detail::time_point time_of(std::int64_t deadline) noexcept {
  return detail::time_point(std::chrono::nanoseconds(deadline));
}
static_assert(detail::never.time_since_epoch() == std::chrono::nanoseconds(SENNIT_NEVER));

// Most elements and states are a word or an int.
SENNIT_INLINE void copy_bytes(void* to, const void* from, std::size_t size) noexcept {
  if (size == sizeof(std::uint64_t)) [[likely]]
    std::memcpy(to, from, sizeof(std::uint64_t));
  else if (size == sizeof(std::uint32_t))
    std::memcpy(to, from, sizeof(std::uint32_t));
  else
    std::memcpy(to, from, size);
}

using detail::in_fiber;

}  // namespace sennit::inline v0_1::capi
