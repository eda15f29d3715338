// Included by subject.cpp only. Functions with a target attribute of their own, in a file whose baseline may
// lack what they have. In gcc the inline switch then cannot say that it changes mask registers and zmm16 to
// zmm31: context.h asks for the call form.
#pragma once

#if defined(__x86_64__)

#if defined(__AVX512F__) || (defined(__clang__) && !defined(TORTURE_ATTRIBUTE_BY_CALL))
template <class C>
using attribute_channel = C;
#else
template <class C>
struct by_call_only;
template <>
struct by_call_only<no_channel> : no_channel {};
template <side me, form f>
struct by_call_only<channel<me, f>> : channel<me, form::by_call> {};
template <class C>
using attribute_channel = by_call_only<C>;
#endif

template <class C>
__attribute__((noinline, target("avx2"))) uint64_t avx2_attribute(session& s, uint64_t seed) {
  __m256i v[14];
#pragma GCC unroll 14
  for (int i = 0; i < 14; ++i)
    v[i] = _mm256_set1_epi64x(static_cast<long long>(word(seed, static_cast<uint64_t>(i))));
  for (int r = 0; r < rounds; ++r) {
    C::go(s, r);
#pragma GCC unroll 14
    for (int i = 0; i < 14; ++i)
      v[i] = _mm256_add_epi64(_mm256_slli_epi64(v[i], 1), v[(i + 3) % 14]);
  }
  uint64_t sum = 0;
#pragma GCC unroll 14
  for (const __m256i& each : v) {
    uint64_t lanes[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(lanes), each);
    for (uint64_t lane : lanes)
      sum = word(sum, lane);
  }
  return sum;
}

// Thirty zmm registers and seven mask registers alive over each switch.
template <class Given>
__attribute__((noinline, target("avx512f,avx512bw"))) uint64_t avx512_attribute(session& s, uint64_t seed) {
  using C = attribute_channel<Given>;
  constexpr int count = 30;
  __m512i v[count];
  __mmask64 m0 = word(seed, 100), m1 = word(seed, 101), m2 = word(seed, 102), m3 = word(seed, 103),
            m4 = word(seed, 104), m5 = word(seed, 105), m6 = word(seed, 106);
#pragma GCC unroll 30
  for (int i = 0; i < count; ++i) {
    v[i] = _mm512_set1_epi64(static_cast<long long>(word(seed, static_cast<uint64_t>(i))));
  }
  for (int r = 0; r < rounds; ++r) {
    // In registers, of any number, right before and right after.
    __asm__ volatile("" : "+k"(m0), "+k"(m1), "+k"(m2), "+k"(m3), "+k"(m4), "+k"(m5), "+k"(m6));
#pragma GCC unroll 30
    for (int i = 0; i < count; ++i)
      __asm__ volatile("" : "+v"(v[i]));
    C::go(s, r);
#pragma GCC unroll 30
    for (int i = 0; i < count; ++i)
      __asm__ volatile("" : "+v"(v[i]));
    __asm__ volatile("" : "+k"(m0), "+k"(m1), "+k"(m2), "+k"(m3), "+k"(m4), "+k"(m5), "+k"(m6));
#pragma GCC unroll 30
    for (int i = 0; i < count; ++i) {
      v[i] = _mm512_add_epi64(_mm512_slli_epi64(v[i], 1), v[(i + 7) % count]);
    }
    v[3] = _mm512_mask_add_epi8(v[3], m0, v[17], v[29]);
    v[18] = _mm512_mask_sub_epi8(v[18], m1, v[4], v[28]);
    v[27] = _mm512_mask_add_epi8(v[27], m2, v[19], v[5]);
    m3 = _mm512_mask_cmpgt_epi8_mask(m4, v[6], v[20]);
    m5 = m5 * 3 + m6;
    m6 = m6 ^ m3;
  }
  uint64_t sum = m0 ^ m1 << 1 ^ m2 << 2 ^ m3 << 3 ^ m4 << 4 ^ m5 << 5 ^ m6 << 6;
#pragma GCC unroll 30
  for (int i = 0; i < count; ++i) {
    uint64_t lanes[8];
    _mm512_storeu_si512(lanes, v[i]);
    for (uint64_t lane : lanes)
      sum = word(sum, lane);
  }
  return sum;
}

inline bool has_avx2() {
  return __builtin_cpu_supports("avx2");
}
inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

#define TARGET_ATTRIBUTE_ROWS ROW(avx2_attribute, has_avx2), ROW(avx512_attribute, has_avx512),

#elif defined(__aarch64__)

// Twenty-six scalable vectors and twelve predicates alive over each switch, which names the registers they
// are in whatever the file's baseline.
template <class C>
__attribute__((noinline, target("+sve"))) uint64_t sve_attribute(session& s, uint64_t seed) {
  // clang-format off
#define EACH_PREDICATE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define EACH_VECTOR(X) \
  EACH_PREDICATE(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25)
// clang-format on
#define DEFINE(n) svuint64_t v##n = svindex_u64(word(seed, n), word(seed, 50 + n));
  EACH_VECTOR(DEFINE)
#undef DEFINE
#define DEFINE(n) svbool_t p##n = svcmpgt_n_u64(svptrue_b64(), v##n, word(seed, 100 + n));
  EACH_PREDICATE(DEFINE)
#undef DEFINE
#define KEEP_VECTOR(n) __asm__ volatile("" : "+w"(v##n));
#define KEEP_PREDICATE(n) __asm__ volatile("" : "+Upa"(p##n));
  for (int r = 0; r < rounds; ++r) {
    // In registers right before and right after.
    EACH_VECTOR(KEEP_VECTOR)
    EACH_PREDICATE(KEEP_PREDICATE)
    C::go(s, r);
    EACH_VECTOR(KEEP_VECTOR)
    EACH_PREDICATE(KEEP_PREDICATE)
#define STEP(n) v##n = svadd_u64_m(p##n, svmul_n_u64_x(svptrue_b64(), v##n, 3), v25);
    EACH_PREDICATE(STEP)
#undef STEP
    v25 = svadd_u64_x(svptrue_b64(), v24, v12);
    p11 = svcmpgt_u64(svptrue_b64(), v0, v13);
  }
  uint64_t sum = 0;
#define ADD(n) sum = word(sum, svaddv_u64(svptrue_b64(), v##n));
  EACH_VECTOR(ADD)
#undef ADD
#define ADD(n) sum = word(sum, svcntp_b64(svptrue_b64(), p##n));
  EACH_PREDICATE(ADD)
#undef ADD
#undef KEEP_VECTOR
#undef KEEP_PREDICATE
#undef EACH_VECTOR
#undef EACH_PREDICATE
  return sum;
}

inline bool has_sve() {
  return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
}

#define TARGET_ATTRIBUTE_ROWS ROW(sve_attribute, has_sve),

#else
#define TARGET_ATTRIBUTE_ROWS
#endif
