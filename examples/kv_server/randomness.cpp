// The server's randomness: from the kernel, at once or as a seed.
#include "siphash.hpp"

#include <random>

namespace kv {

siphash_key random_hash_key() {
  std::random_device device;
  const auto word = [&] { return std::uint64_t{device()} << 32 | device(); };
  const std::uint64_t low = word();
  return {low, word()};
}

std::size_t random_below(std::size_t limit) {
  static std::mt19937_64 random{std::random_device{}()};
  return static_cast<std::size_t>(random() % limit);
}

}  // namespace kv
