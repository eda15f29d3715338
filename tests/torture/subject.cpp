// The difficult functions. TORTURE_OBJECT is this object's name: several are linked into one program.
#include <cstddef>
#include <cstring>

#include "torture.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_sve.h>
#include <sys/auxv.h>
#endif

#define NOINLINE __attribute__((noinline))

namespace torture {
namespace {

// A call that takes all argument registers.
NOINLINE uint64_t call_something(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
  __asm__ volatile("" ::: "memory");
  return word(a ^ (b << 1), c) + word(d ^ (e << 2), f);
}

// No call, so its locals are in the red zone.
template <class C>
NOINLINE uint64_t leaf(session& s, uint64_t seed) {
  uint64_t local[13];
  for (int i = 0; i < 13; ++i)
    local[i] = word(seed, static_cast<uint64_t>(i));
  uint64_t a = opaque(seed), b = opaque(seed + 1), c = opaque(seed + 2);
  for (int r = 0; r < rounds; ++r) {
    __asm__ volatile("" : : "r"(local) : "memory");  // they are in memory, and other code may look
    C::go(s, r);
    __asm__ volatile("" : : "r"(local) : "memory");
    for (int i = 0; i < 13; ++i)
      local[i] = local[i] * 5 + local[(i + 1) % 13] + a;
    a += b;
    b ^= c;
    c = c * 3 + local[r % 13];
  }
  for (uint64_t each : local)
    a = word(a, each);
  return a ^ b ^ c;
}

// More live values than registers.
template <class C>
NOINLINE uint64_t many_live(session& s, uint64_t seed) {
  uint64_t a = opaque(seed), b = opaque(a + 1), c = opaque(a + 2), d = opaque(a + 3), e = opaque(a + 4),
           f = opaque(a + 5), g = opaque(a + 6), h = opaque(a + 7), i = opaque(a + 8), j = opaque(a + 9),
           k = opaque(a + 10), l = opaque(a + 11), m = opaque(a + 12), n = opaque(a + 13), o = opaque(a + 14),
           p = opaque(a + 15), q = opaque(a + 16);
  for (int r = 0; r < rounds; ++r) {
    C::go(s, r);
    a += b, b ^= c, c += d, d ^= e, e += f, f ^= g, g += h, h ^= i;
    C::go(s, r + 1);
    i += j, j ^= k, k += l, l ^= m, m += n, n ^= o, o += p, p ^= q, q += a;
  }
  return word(word(a ^ b << 1, c ^ d << 3) ^ word(e ^ f << 5, g ^ h << 7), word(i ^ j << 2, k ^ l << 4)) ^
         word(word(m ^ n << 6, o ^ p << 8), q);
}

// Needs a frame pointer, a stack pointer realigned, and with both a base pointer; and throws past the array.
template <class C>
NOINLINE uint64_t variable_array_aligned_throw(session& s, uint64_t seed) {
  uint64_t sum = seed;
  for (int r = 0; r < rounds; ++r) {
    const size_t size = 16 + word(seed, static_cast<uint64_t>(r)) % 300;
    auto* array = static_cast<unsigned char*>(__builtin_alloca(size));
    alignas(64) uint64_t aligned[8];
    for (size_t i = 0; i < size; ++i)
      array[i] = static_cast<unsigned char>(sum + i);
    for (uint64_t i = 0; i < 8; ++i)
      aligned[i] = word(sum, i);
    __asm__ volatile("" : : "r"(array), "r"(aligned) : "memory");
    try {
      C::go(s, r);
      if (reinterpret_cast<uintptr_t>(opaque(&aligned[0])) % 64 != 0)
        return 1;
      throw sum + array[size - 1];
    } catch (uint64_t thrown) {
      C::go(s, r + 1);
      sum = word(thrown, aligned[r % 8] + array[size / 2]);
      C::go(s, r + 2);
    }
    for (size_t i = 0; i < size; ++i)
      sum += array[i] * i;
    for (uint64_t each : aligned)
      sum = word(sum, each);
  }
  return sum;
}

// A frame pointer only, for the array.
template <class C>
NOINLINE uint64_t variable_array(session& s, uint64_t seed) {
  uint64_t sum = seed, other = opaque(seed * 7);
  for (int r = 0; r < rounds; ++r) {
    const size_t size = 8 + word(seed, static_cast<uint64_t>(r)) % 100;
    auto* array = static_cast<uint64_t*>(__builtin_alloca(size * sizeof(uint64_t)));
    for (size_t i = 0; i < size; ++i)
      array[i] = sum + i;
    __asm__ volatile("" : : "r"(array) : "memory");
    C::go(s, r);
    for (size_t i = 0; i < size; ++i)
      sum = sum * 3 + array[i];
    other ^= sum;
  }
  return sum ^ other << 1;
}

// Realigned, with arguments on the stack, which are then found through yet another pointer.
template <class C>
NOINLINE uint64_t aligned_with_stack_arguments(session& s, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                               uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
  alignas(64) uint64_t aligned[16];
  uint64_t sum = a ^ b;
  for (int r = 0; r < rounds; ++r) {
    auto* array = static_cast<uint64_t*>(__builtin_alloca((1 + sum % 7) * sizeof(uint64_t)));
    array[0] = sum;
    for (uint64_t i = 0; i < 16; ++i)
      aligned[i] = word(sum + f, i + g);
    __asm__ volatile("" : : "r"(array), "r"(aligned) : "memory");
    C::go(s, r);
    sum = call_something(aligned[r], array[0], c + e, d, g, h);
    C::go(s, r + 1);
    sum ^= f + g * 3 + h * 5 + e;
  }
  return sum;
}

template <class C>
NOINLINE uint64_t aligned_arguments(session& s, uint64_t seed) {
  return aligned_with_stack_arguments<C>(s, seed, seed + 1, seed + 2, seed + 3, seed + 4, seed + 5, seed + 6,
                                         seed + 7);
}

// More than a page of locals: probed when -fstack-clash-protection says so.
template <class C>
NOINLINE uint64_t large_frame(session& s, uint64_t seed) {
  uint64_t local[1500];
  for (uint64_t i = 0; i < 1500; ++i)
    local[i] = word(seed, i);
  __asm__ volatile("" : : "r"(local) : "memory");
  uint64_t sum = seed;
  for (int r = 0; r < rounds; ++r) {
    C::go(s, r);
    for (int i = r; i < 1500; i += 7)
      sum = sum * 3 + (local[i] ^= sum);
  }
  return sum;
}

// Vectors of the width `bytes`, more than there are registers.
template <class C, class vector>
[[gnu::always_inline]] inline uint64_t vectors_of(session& s, uint64_t seed) {
  constexpr size_t lanes = sizeof(vector) / sizeof(uintptr_t);
  uintptr_t lane[18 * lanes];
  for (uint64_t i = 0; i < 18 * lanes; ++i)
    lane[i] = word(seed + i / lanes, i % lanes);
  vector v[18];
#pragma GCC unroll 18
  for (size_t i = 0; i < 18; ++i)
    std::memcpy(&v[i], lane + i * lanes, sizeof(vector));
  for (int r = 0; r < rounds; ++r) {
    C::go(s, r);
#pragma GCC unroll 18
    for (int i = 0; i < 18; ++i)
      v[i] = v[i] * 3 + (v[(i + 5) % 18] ^ (v[(i + 11) % 18] >> 7));
  }
#pragma GCC unroll 18
  for (size_t i = 0; i < 18; ++i)
    std::memcpy(lane + i * lanes, &v[i], sizeof(vector));
  uint64_t sum = 0;
  for (uintptr_t each : lane)
    sum = word(sum, each);
  return sum;
}

typedef uintptr_t vector16 __attribute__((vector_size(16)));
typedef uintptr_t vector64 __attribute__((vector_size(64)));

template <class C>
NOINLINE uint64_t narrow_vectors(session& s, uint64_t seed) {
  return vectors_of<C, vector16>(s, seed);
}

template <class C>
NOINLINE uint64_t wide_vectors(session& s, uint64_t seed) {
  return vectors_of<C, vector64>(s, seed);
}

template <class T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value) < 8 ? sizeof(value) : 8);
  return bits;
}

template <class C>
NOINLINE uint64_t floating_point(session& s, uint64_t seed) {
  const double start = 1.0 + static_cast<double>(seed % 1000) / 997;
  double a = start, b = start / 3, c = start / 7, d = start / 11, e = start / 13, f = start / 17,
         g = start / 19, h = start / 23, i = start / 29, j = start / 31, k = start / 37, l = start / 41;
  float x = 0.3F, y = 0.7F;
  long double u = 1.0L / 3, v = 2.0L / 7, w = static_cast<long double>(start);
  for (int r = 0; r < rounds; ++r) {
    a = a * 0.99 + b, b = b * 0.98 - c, c = c * 0.97 + d, d = d * 0.96 - e;
    C::go(s, r);
    e = e * 0.95 + f, f = f * 0.94 - g, g = g * 0.93 + h, h = h * 0.92 - i;
    u = u * 1.01L + v, v = v * 0.99L - w * 0.001L, w = w * 1.001L;
    C::go(s, r + 1);
    i = i * 0.91 + j, j = j * 0.9 - k, k = k * 0.89 + l, l = l * 0.88 + a;
    x = x * 1.01F + y, y = y * 0.99F;
  }
  const double all[] = {a, b, c, d, e, f, g, h, i, j, k, l};
  uint64_t sum = bits_of(x) ^ bits_of(y) << 32 ^ bits_of(static_cast<double>(u)) ^
                 bits_of(static_cast<double>(v)) << 1 ^ bits_of(static_cast<double>(w)) << 2;
  for (double each : all)
    sum = word(sum, bits_of(each));
  return sum;
}

// Each in its own handler, over switches, the whole pair of exceptions rethrown in turn.
template <class C>
NOINLINE uint64_t handlers(session& s, uint64_t seed) {
  uint64_t sum = seed;
  for (int r = 0; r < rounds; ++r) {
    try {
      try {
        throw sum;
      } catch (uint64_t) {
        C::go(s, r);
        try {
          throw static_cast<int>(sum & 0xffff);
        } catch (int inner) {
          C::go(s, r + 1);
          sum = word(sum, static_cast<uint64_t>(inner));
        }
        C::go(s, r + 2);
        throw;
      }
    } catch (uint64_t outer) {
      sum ^= outer << 1;
    }
  }
  return sum;
}

struct switches_when_destroyed {
  session& s;
  uint64_t& sum;
  void (*go)(session&, int);
  ~switches_when_destroyed() {
    go(s, static_cast<int>(sum % 4));
    sum = word(sum, 3);
  }
};

// Its frame is only cleaned up: the exception is caught further out.
template <class C>
NOINLINE uint64_t left_by_exception(session& s, uint64_t& sum) {
  switches_when_destroyed one{s, sum, [](session& t, int n) { C::go(t, n); }};
  throw sum;
}

template <class C>
NOINLINE uint64_t unwinding(session& s, uint64_t seed) {
  uint64_t sum = seed;
  for (int r = 0; r < rounds; ++r) {
    try {
      switches_when_destroyed one{s, sum, [](session& t, int n) { C::go(t, n); }};
      C::go(s, r);
      if (r % 2 == 0)
        throw sum;
      sum ^= left_by_exception<C>(s, sum);
    } catch (uint64_t thrown) {
      sum ^= thrown << 2;
    }
  }
  return sum;
}

template <class C>
NOINLINE uint64_t recursion(session& s, uint64_t depth, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t x = a * 3 + b;
  C::go(s, static_cast<int>(depth % 4));
  if (depth == 0)
    return x ^ c;
  const uint64_t below = recursion<C>(s, depth - 1, b, c, x);
  C::go(s, static_cast<int>(below % 4));
  return word(below ^ a, b + c + x);
}

template <class C>
NOINLINE uint64_t recursive(session& s, uint64_t seed) {
  return recursion<C>(s, 2 * rounds, seed, seed + 1, seed + 2);
}

// The switch inlined many times into one function.
template <class C>
[[gnu::always_inline]] inline uint64_t step(session& s, uint64_t a, int r) {
  C::go(s, r);
  return word(a, static_cast<uint64_t>(r));
}

template <class C>
NOINLINE uint64_t unrolled(session& s, uint64_t seed) {
  uint64_t a = seed, b = seed + 1;
  a = step<C>(s, a, 0), b = step<C>(s, b, 1), a = step<C>(s, a ^ b, 2), b = step<C>(s, a + b, 3);
  a = step<C>(s, a, 4), b = step<C>(s, b, 5), a = step<C>(s, a ^ b, 6), b = step<C>(s, a + b, 7);
  return a ^ b << 1;
}

#include "target_attribute.hpp"

}  // namespace

#define ROW(f, condition)                                                         \
  {                                                                               \
      #f,                                                                         \
      condition,                                                                  \
      f<no_channel>,                                                              \
      {f<channel<host, form::by_inline>>, f<channel<host, form::all_in_turn>>},   \
      {f<channel<guest, form::by_inline>>, f<channel<guest, form::all_in_turn>>}, \
  }

static const subject subjects[] = {ROW(leaf, nullptr),
                                   ROW(many_live, nullptr),
                                   ROW(variable_array_aligned_throw, nullptr),
                                   ROW(variable_array, nullptr),
                                   ROW(aligned_arguments, nullptr),
                                   ROW(large_frame, nullptr),
                                   ROW(narrow_vectors, nullptr),
                                   ROW(wide_vectors, nullptr),
                                   ROW(floating_point, nullptr),
                                   ROW(handlers, nullptr),
                                   ROW(unwinding, nullptr),
                                   ROW(recursive, nullptr),
                                   ROW(unrolled, nullptr),
                                   TARGET_ATTRIBUTE_ROWS};

// Objects differ in name only; main.cpp gets the list of them.
extern "C" const object TORTURE_OBJECT = {TORTURE_TITLE, subjects,
                                          static_cast<int>(sizeof(subjects) / sizeof(subjects[0]))};

}  // namespace torture
