// Where nothing is redirected: see include/sennit/detail/arch/redirect.hpp.
#include "sennit/detail/arch/redirect.hpp"

#if !SENNIT_REDIRECTS

namespace sennit::inline v0_1::detail {

std::size_t redirection_room(const void*) noexcept {
  return 0;
}

void redirect(void*, char*, void (*)(redirection&), void*) noexcept {}

}  // namespace sennit::inline v0_1::detail

#endif
