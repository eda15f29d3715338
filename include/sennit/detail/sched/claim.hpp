// Who may end a wait that several could end: a waker, a deadline, the runtime's end.
//
//   open ---> parked ---> taken or timed_out       by whoever comes first; it then makes the waiter ready
//     +-----------------> taken or timed_out       came before the waiter had parked: nobody needs to do more
//
// The waiter registers with everything that may end its wait while the claim is open, on its own stack; when
// its stack is left, it parks the claim, unless that was taken meanwhile. An OS thread never parks it: it
// waits for the word itself.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::detail {

// Of several places in which it waits, `taken` says which: the upper bits are its number.
enum class claim_state : std::uint32_t { open, taken, parked, timed_out };
inline constexpr claim_state taken_at(std::uint32_t place) noexcept {
  return claim_state{(place << 2) + static_cast<std::uint32_t>(claim_state::taken)};
}
inline constexpr bool is_taken(claim_state s) noexcept {
  return static_cast<std::uint32_t>(s) % 4 == static_cast<std::uint32_t>(claim_state::taken);
}
inline constexpr std::uint32_t place_of(claim_state s) noexcept {
  return static_cast<std::uint32_t>(s) >> 2;
}

// Parked, and what ends the wait is a grant alone (or the runtime's end): who grants it opens the claim,
// which so is ready for the next wait, for one atomic read-modify-write less.
inline constexpr claim_state parked_for_grant{4 + static_cast<std::uint32_t>(claim_state::parked)};

enum class claim_result : std::uint8_t {
  lost,   // somebody else has ended the wait
  early,  // won; the waiter has not parked, and goes on by itself
  parked  // won; the waiter is to be made ready
};

template <class Memory = native_memory>
class basic_claim {
public:
  // Ends the wait, as a waker (taken) or as a deadline (timed_out).
  claim_result take(claim_state as) noexcept {
    claim_state seen = state_.load(std::memory_order_relaxed);
    while (seen == claim_state::open || seen == claim_state::parked || seen == parked_for_grant)
      if (state_.compare_exchange_weak(seen, as, std::memory_order_acq_rel, std::memory_order_relaxed))
        return seen == claim_state::open ? claim_result::early : claim_result::parked;
    return claim_result::lost;
  }

  // Ends the wait of one that cannot go on by itself. False: somebody else makes it ready.
  bool withdraw() noexcept { return take(claim_state::timed_out) == claim_result::parked; }

  // The waiter has left its stack. False: the wait has ended; state() says how.
  bool park(claim_state as = claim_state::parked) noexcept {
    claim_state seen = claim_state::open;
    return state_.compare_exchange_strong(seen, as, std::memory_order_release, std::memory_order_relaxed);
  }

  claim_state state() const noexcept { return state_.load(std::memory_order_acquire); }

  bool is_open() const noexcept { return state_.load(std::memory_order_relaxed) == claim_state::open; }

  // For one that is used again and again (a fiber's own park): opens it; who had ended the wait.
  claim_state reopen() noexcept { return state_.exchange(claim_state::open, std::memory_order_acquire); }
  // The same after a park for a grant, which has opened it as a rule.
  void renew() noexcept {
    if (!is_open())
      reopen();
  }
  // A wake that is kept until somebody waits. True: the waiter is to be made ready.
  bool grant() noexcept {
    claim_state seen = state_.load(std::memory_order_relaxed);
    claim_state next;
    do
      next = seen == parked_for_grant ? claim_state::open : claim_state::taken;
    while (!state_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
    return seen == claim_state::parked || seen == parked_for_grant;
  }

  typename Memory::template atomic<claim_state>& word() noexcept { return state_; }

private:
  typename Memory::template atomic<claim_state> state_{claim_state::open};
};

using wait_claim = basic_claim<>;

}  // namespace sennit::detail
