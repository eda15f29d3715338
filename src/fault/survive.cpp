// A way out of the fault handler. The handler's stack and the one that is left may be any.
#undef _FORTIFY_SOURCE  // its longjmp refuses to go from one stack to another
#include "sennit/detail/fault/survive.hpp"

#include <csetjmp>

#include "sennit/detail/stack/sanitizer.hpp"

#if defined(__USE_FORTIFY_LEVEL) && __USE_FORTIFY_LEVEL > 0
#error "sennit: something was included before this file. Compile it separately, without a precompiled header"
#endif

namespace sennit::inline v0_1::detail {

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local sigjmp_buf* way_out = nullptr;

}  // namespace

SENNIT_UNSANITIZED bool fault_survived(void (*look)(void*), void* argument) noexcept {
  sigjmp_buf* volatile const outer = way_out;
  sigjmp_buf here;
  const bool whole = sigsetjmp(here, 1) == 0;
  if (whole) {
    way_out = &here;
    look(argument);
  }
  way_out = outer;
  return whole;
}

SENNIT_UNSANITIZED void fault_escape() noexcept {
  if (way_out != nullptr)
    siglongjmp(*way_out, 1);
}

}  // namespace sennit::inline v0_1::detail
