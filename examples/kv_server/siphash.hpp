// SipHash, a keyed hash: whoever does not know the key cannot make keys collide on purpose. (Aumasson and
// Bernstein, "SipHash: a fast short-input PRF", 2012.) The store uses one and two rounds, as Redis does.
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
class siphash {
public:
  explicit siphash(const siphash_key& key)
      : v0_(key.low ^ 0x736f6d6570736575U),
        v1_(key.high ^ 0x646f72616e646f6dU),
        v2_(key.low ^ 0x6c7967656e657261U),
        v3_(key.high ^ 0x7465646279746573U) {}

  std::uint64_t operator()(std::string_view bytes) {
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; at += 8, left -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      absorb(word);
    }
    absorb(tail(at, left) | std::uint64_t{bytes.size()} << 56);
    v2_ ^= 0xff;
    rounds<rounds_at_the_end>();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

private:
  static std::uint64_t tail(const char* at, std::size_t left) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < left; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    }
    return word;
  }

  void absorb(std::uint64_t word) {
    v3_ ^= word;
    rounds<rounds_per_word>();
    v0_ ^= word;
  }

  template <int count>
  void rounds() {
    for (int i = 0; i < count; ++i) {
      round();
    }
  }

  void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace kv
