// Reads what another thread may be changing, for diagnostics.
#pragma once

#include "sennit/detail/arch/context_types.h"

namespace sennit::inline v0_1::detail {

// Reads an object that its owner may be changing, each word in one piece.
template <class T>
SENNIT_UNSANITIZED T look(const T& at) noexcept {
  return *const_cast<const volatile T*>(&at);
}

}  // namespace sennit::inline v0_1::detail
