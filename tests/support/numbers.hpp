// Structs of so many words, made from a seed and compared with it: values that a switch passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace support {

template <std::size_t N>
struct numbers {
  std::uintptr_t each[N];
};

template <std::size_t N>
numbers<N> numbers_from(std::uintptr_t seed) {
  numbers<N> made;
  for (std::size_t i = 0; i < N; ++i)
    made.each[i] = (seed + 1) * (2 * i + 1) * static_cast<std::uintptr_t>(0x9e3779b97f4a7c15);
  return made;
}

template <std::size_t N>
bool are_from(const numbers<N>& got, std::uintptr_t seed) {
  const numbers<N> wanted = numbers_from<N>(seed);
  return std::memcmp(&got, &wanted, sizeof got) == 0;
}

}  // namespace support
