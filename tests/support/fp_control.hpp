// What floating-point control state does, as arithmetic shows it.
#pragma once

#include <cfenv>

#include "sennit/fp_control.h"

namespace support {

// Whether sennit/fp_control.h knows this CPU's registers. Where there is a switch, it must.
inline bool has_fp_control() {
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv_flen) || defined(__powerpc64__) || \
    defined(__s390x__) || defined(__ARM_FP)
  return true;
#else
  return false;
#endif
}

// A tenth, which the usual rounding makes a little greater.
[[gnu::noinline]] inline bool rounds_to_zero() {
  volatile double one = 1, ten = 10;
  const volatile double tenth = one / ten;
  return tenth < 0.1;
}

}  // namespace support
