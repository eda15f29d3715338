// Notifies the sanitizers of the torture test's switches. Compiled without any, as these functions are
// entered in one context and left in another. TORTURE_ASAN, TORTURE_TSAN: what the rest of the program is
// built with.
#include "torture.hpp"

#if defined(TORTURE_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(TORTURE_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

extern "C" {

void torture_before_switch([[maybe_unused]] torture::session* s, [[maybe_unused]] torture::side me) {
#if defined(TORTURE_ASAN)
  if (me == torture::host) {
    __sanitizer_start_switch_fiber(&s->sanitizer[me], s->stack_bottom, s->stack_size);
  } else {
    __sanitizer_start_switch_fiber(&s->sanitizer[me], s->host_bottom, s->host_size);
  }
#endif
#if defined(TORTURE_TSAN)
  s->sanitizer[me] = __tsan_get_current_fiber();
  if (s->sanitizer[1 - me] == nullptr)
    s->sanitizer[1 - me] = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(s->sanitizer[1 - me], 0);
#endif
}

void torture_after_switch([[maybe_unused]] torture::session* s, [[maybe_unused]] torture::side me) {
#if defined(TORTURE_ASAN)
  if (me == torture::host) {
    __sanitizer_finish_switch_fiber(s->sanitizer[me], nullptr, nullptr);
  } else {
    __sanitizer_finish_switch_fiber(s->sanitizer[me], &s->host_bottom, &s->host_size);
  }
#endif
}

}  // extern "C"
