// SipHash, a keyed hash: whoever does not know the key cannot make keys collide on purpose. (Aumasson and
// Bernstein, "SipHash: a fast short-input PRF", 2012.) std::hash has no key. The store uses one and two
// rounds, as Redis does.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kv {

struct siphash_key {
  std::uint64_t low;
  std::uint64_t high;
};

template <int rounds_per_word, int rounds_at_the_end>
std::uint64_t siphash(const siphash_key& key, std::string_view bytes) {
  std::uint64_t v0 = key.low ^ 0x736f6d6570736575U, v1 = key.high ^ 0x646f72616e646f6dU;
  std::uint64_t v2 = key.low ^ 0x6c7967656e657261U, v3 = key.high ^ 0x7465646279746573U;
  const auto mix = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  };
  const auto absorb = [&](std::uint64_t word) {
    v3 ^= word;
    mix(rounds_per_word);
    v0 ^= word;
  };
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    absorb(word);
  }
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  for (std::size_t i = 0; i < left; ++i) {
    last |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  }
  absorb(last);
  v2 ^= 0xff;
  mix(rounds_at_the_end);
  return v0 ^ v1 ^ v2 ^ v3;
}

// Where the server's randomness comes from (randomness.cpp). Fuzzing puts a repeatable one in its place.
siphash_key random_hash_key();                // unknown to all clients
std::size_t random_below(std::size_t limit);  // from 0; not for secrets

}  // namespace kv
