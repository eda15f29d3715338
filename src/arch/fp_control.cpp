// The registers of the floating-point control state. The bits of `control` are ours, the rest flags.
#include "sennit/fp_control.h"

#include <bit>
#include <cstdint>

namespace {

#if defined(__x86_64__)

constexpr std::uint32_t mxcsr_control = 0xffc0;
constexpr std::uint16_t x87_control = 0x0f3f;

std::uint32_t read_mxcsr() noexcept {
  std::uint32_t word;
  __asm__ volatile("stmxcsr %0" : "=m"(word));
  return word;
}

std::uint16_t read_x87() noexcept {
  std::uint16_t word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

#else

// One word everywhere else.
#if defined(__aarch64__)
using register_word = std::uint64_t;
constexpr register_word control = 0xffffffff;
#define READ "mrs %0, fpcr"
#define WRITE "msr fpcr, %0"
#elif defined(__arm__) && defined(__ARM_FP)
using register_word = std::uint32_t;
constexpr register_word control = 0x07ff9f00;
#define READ "vmrs %0, fpscr"
#define WRITE "vmsr fpscr, %0"
#elif defined(__riscv_flen)
using register_word = std::uintptr_t;
constexpr register_word control = 0xe0;
#define READ "frcsr %0"
#define WRITE "fscsr %0"
#elif defined(__s390x__)
using register_word = std::uint32_t;
constexpr register_word control = 0xfc000077;
#define READ "efpc %0"
#define WRITE "sfpc %0"
#elif defined(__powerpc64__)
using register_word = std::uint64_t;
#if defined(_ARCH_PWR6)
constexpr register_word control = 0x7000000ff;
#define WRITE_FLOATING "mtfsf 255, %0, 1, 0"
#else  // older ones reach only the lower half, and have no decimal rounding mode in the upper one
constexpr register_word control = 0xff;
#define WRITE_FLOATING "mtfsf 255, %0"
#endif
#else
using register_word = std::uint32_t;
constexpr register_word control = 0;
#endif

register_word read() noexcept {
#if defined(READ)
  register_word word;
  __asm__ volatile(READ : "=r"(word));
  return word;
#elif defined(__powerpc64__)  // it is moved through a floating-point register
  double word;
  __asm__ volatile("mffs %0" : "=d"(word));
  return std::bit_cast<register_word>(word);
#else
  return 0;
#endif
}

void write([[maybe_unused]] register_word word) noexcept {
#if defined(WRITE)
  __asm__ volatile(WRITE : : "r"(word));
#elif defined(__powerpc64__)
  __asm__ volatile(WRITE_FLOATING : : "d"(std::bit_cast<double>(word)));
#endif
}

#endif

}  // namespace

extern "C" {

#if defined(__x86_64__)

std::uint64_t sennit_fp_control_get() {
  return (read_mxcsr() & mxcsr_control) | std::uint64_t(read_x87() & x87_control) << 32;
}

void sennit_fp_control_set(std::uint64_t word) {
  const std::uint32_t mxcsr = read_mxcsr();
  if (const auto other = (mxcsr ^ static_cast<std::uint32_t>(word)) & mxcsr_control) {
    const std::uint32_t wanted = mxcsr ^ other;
    __asm__ volatile("ldmxcsr %0" : : "m"(wanted));
  }
  const std::uint16_t x87 = read_x87();
  if (const auto other = (x87 ^ static_cast<std::uint16_t>(word >> 32)) & x87_control) {
    const auto wanted = static_cast<std::uint16_t>(x87 ^ other);
    __asm__ volatile("fldcw %0" : : "m"(wanted));
  }
}

#else

std::uint64_t sennit_fp_control_get() {
  return read() & control;
}

void sennit_fp_control_set(std::uint64_t word) {
  const register_word now = read();
  if (const register_word other = (now ^ static_cast<register_word>(word)) & control)
    write(now ^ other);
}

#endif

}  // extern "C"
