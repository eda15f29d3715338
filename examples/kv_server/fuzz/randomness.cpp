// In place of the server's own randomness: the same for every run of an input.
#include "../siphash.hpp"

#include <random>

#include "harness.hpp"

namespace kv {

namespace {
std::minstd_rand numbers;
}

siphash_key random_hash_key() {
  return {0x0706050403020100, 0x0f0e0d0c0b0a0908};
}

std::size_t random_below(std::size_t limit) {
  return numbers() % limit;
}

void fuzz::restart_randomness() {
  numbers.seed(1);
}

}  // namespace kv
