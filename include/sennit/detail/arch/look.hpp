// Reads what another thread may be changing.
#pragma once

#include "sennit/detail/arch/context_types.h"

namespace sennit::inline v0_1::detail {

// For diagnostics: reads an object that its owner may be changing, each word in one piece.
template <class T>
SENNIT_UNSANITIZED T look(const T& at) noexcept {
  return *const_cast<const volatile T*>(&at);
}

// Reads a word that others change under a lock, without the lock, before all that the caller reads later.
template <class T>
T look_ahead(const T& at) noexcept {
  return __atomic_load_n(&at, __ATOMIC_ACQUIRE);
}

}  // namespace sennit::inline v0_1::detail
