// Words in which one at a time waits: how it enters, and leaves when its wait ends by something else. Who
// ends the wait exchanges the word first. See wait.hpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace sennit::detail {

// False: the word is not, or no more, what was expected. It says what it is then.
template <class Word>
bool slot_enter(Word& slot, std::uintptr_t& expected, std::uintptr_t me) noexcept {
  return slot.compare_exchange_strong(expected, me, std::memory_order_acq_rel, std::memory_order_acquire);
}

// False: somebody has taken us out, and ends our wait.
template <class Word>
bool slot_leave(Word& slot, std::uintptr_t left, std::uintptr_t me) noexcept {
  return slot.compare_exchange_strong(me, left, std::memory_order_acq_rel, std::memory_order_acquire);
}

}  // namespace sennit::detail
