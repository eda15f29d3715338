// Words in which one waiter at a time waits: how it enters, and how it leaves if its wait ends by something
// else. The waker exchanges the word first. See wait.hpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace sennit::inline v0_1::detail {

// Returns false, and sets `expected` to the word's value, if the word has another value than expected.
template <class Word>
bool slot_enter(Word& slot, std::uintptr_t& expected, std::uintptr_t me) noexcept {
  return slot.compare_exchange_strong(expected, me, std::memory_order_acq_rel, std::memory_order_acquire);
}

// Returns false if a waker has taken the waiter out, and ends its wait.
template <class Word>
bool slot_leave(Word& slot, std::uintptr_t left, std::uintptr_t me) noexcept {
  return slot.compare_exchange_strong(me, left, std::memory_order_acq_rel, std::memory_order_acquire);
}

}  // namespace sennit::inline v0_1::detail
