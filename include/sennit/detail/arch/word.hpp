// Values that travel in the register that a switch hands over.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sennit/detail/arch/exceptions.hpp"
#include "sennit/detail/arch/inline.hpp"

namespace sennit::inline v0_1::detail {

// Small trivial values go in the register themselves; of others, the address does.
template <class T>
inline constexpr bool fits_word = std::is_object_v<T> && std::is_trivially_copyable_v<T> &&
                                  std::is_default_constructible_v<T> && sizeof(T) <= sizeof(std::uintptr_t);

template <class T>
SENNIT_INLINE std::uintptr_t to_word(const T& value) noexcept {
  static_assert(fits_word<T>);
  std::uintptr_t word = 0;
  std::memcpy(&word, __builtin_addressof(value), sizeof(T));
  return word;
}

template <class T>
SENNIT_INLINE T from_word(std::uintptr_t word) noexcept {
  static_assert(fits_word<T>);
  T value;
  std::memcpy(static_cast<void*>(__builtin_addressof(value)), &word, sizeof(T));
  return value;
}

}  // namespace sennit::inline v0_1::detail
