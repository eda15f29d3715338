// What a preset promises, checked in the program that came out of it.
#include <gtest/gtest.h>

#include <climits>
#include <string>

#include "sennit/version.h"

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

namespace {

TEST(BuildFlags, language_is_cxx20) {
  EXPECT_GE(__cplusplus, 202002L);
}

TEST(BuildFlags, address_sanitizer_is_on_exactly_when_asked_for) {
#if HAS_FEATURE(address_sanitizer) || defined(__SANITIZE_ADDRESS__)
  EXPECT_EQ(WANT_ADDRESS_SANITIZER, 1);
#else
  EXPECT_EQ(WANT_ADDRESS_SANITIZER, 0);
#endif
}

TEST(BuildFlags, thread_sanitizer_is_on_exactly_when_asked_for) {
#if HAS_FEATURE(thread_sanitizer) || defined(__SANITIZE_THREAD__)
  EXPECT_EQ(WANT_THREAD_SANITIZER, 1);
#else
  EXPECT_EQ(WANT_THREAD_SANITIZER, 0);
#endif
}

TEST(BuildFlags, version_is_the_projects) {
  EXPECT_EQ(std::string(SENNIT_VERSION_STRING), WANT_VERSION);
  EXPECT_EQ(SENNIT_VERSION, WANT_VERSION_NUMBER);
}

// No macro tells of this one on gcc, so it is asked to find a signed overflow.
#if WANT_UNDEFINED_SANITIZER
TEST(BuildFlags, undefined_behaviour_sanitizer_ends_the_program) {
  volatile int most = INT_MAX;
  EXPECT_DEATH({ most = most + 1; }, "signed integer overflow");
}
#endif

TEST(BuildFlags, assertions_are_on_exactly_when_asked_for) {
#ifdef NDEBUG
  EXPECT_EQ(WANT_ASSERTIONS, 0);
#else
  EXPECT_EQ(WANT_ASSERTIONS, 1);
#endif
}

TEST(BuildFlags, instruction_set_is_the_one_sources_were_chosen_for) {
#if defined(WANT_ISA_x86_64) && !defined(__x86_64__)
  FAIL() << "sources were chosen for x86-64, the compiler makes something else";
#elif defined(WANT_ISA_aarch64) && !defined(__aarch64__)
  FAIL() << "sources were chosen for AArch64, the compiler makes something else";
#elif defined(WANT_ISA_riscv64) && !defined(__riscv)
  FAIL() << "sources were chosen for RISC-V 64, the compiler makes something else";
#elif defined(WANT_ISA_ppc64le) && !defined(__powerpc64__)
  FAIL() << "sources were chosen for PowerPC 64 LE, the compiler makes something else";
#elif defined(WANT_ISA_arm) && !defined(__arm__)
  FAIL() << "sources were chosen for ARM 32, the compiler makes something else";
#elif defined(WANT_ISA_s390x) && !defined(__s390x__)
  FAIL() << "sources were chosen for s390x, the compiler makes something else";
#endif
}

}  // namespace
