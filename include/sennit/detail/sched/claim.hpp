// The claim decides which of several events ends a wait: a waker, a deadline, or the runtime's end.
//
//   open ---> parked ---> taken or timed_out       by the first event, which then makes the waiter ready
//     +-----------------> taken or timed_out       by an event before the waiter parked: nothing more to do
//
// While the claim is open, the waiter still runs on its own stack. It registers with everything that may end
// its wait. After it has left its stack, the claim is parked, unless an event took it meanwhile. An OS thread
// never parks its claim: it waits on the word itself.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::inline v0_1::detail {

// In a wait in several places, the upper bits of `taken` are the number of the place.
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

// Parked, and only a grant or the runtime's end may end the wait. The granter opens the claim again. This
// saves the next wait one atomic read-modify-write.
inline constexpr claim_state parked_for_grant{4 + static_cast<std::uint32_t>(claim_state::parked)};

enum class claim_result : std::uint8_t {
  lost,             // another event has ended the wait
  won_before_park,  // the waiter has not parked, and continues by itself
  won               // the caller must make the waiter ready
};

template <class Memory = native_memory>
class basic_claim {
public:
  // Ends the wait, as a waker (taken) or as a deadline (timed_out).
  claim_result take(claim_state as) noexcept {
    claim_state seen = state_.load(std::memory_order_relaxed);
    while (seen == claim_state::open || seen == claim_state::parked || seen == parked_for_grant)
      if (state_.compare_exchange_weak(seen, as, std::memory_order_acq_rel, std::memory_order_relaxed))
        return seen == claim_state::open ? claim_result::won_before_park : claim_result::won;
    return claim_result::lost;
  }

  // Ends the wait of a waiter that cannot continue by itself. Returns false if another event makes it ready.
  bool withdraw() noexcept { return take(claim_state::timed_out) == claim_result::won; }

  // For a claim that only one thread uses, and that is not parked. Returns false if the wait has ended.
  bool take_alone(claim_state as) noexcept {
    if (!is_open())
      return false;
    state_.store(as, std::memory_order_relaxed);
    return true;
  }

  // For a claim that no other thread knows yet: begins a wait that cannot continue by itself.
  void begin_parked() noexcept { state_.store(claim_state::parked, std::memory_order_relaxed); }
  // Called when the waiter has left its stack. Returns false if the wait has ended; state() says how.
  bool park(claim_state as = claim_state::parked) noexcept {
    claim_state seen = claim_state::open;
    return state_.compare_exchange_strong(seen, as, std::memory_order_release, std::memory_order_relaxed);
  }

  claim_state state() const noexcept { return state_.load(std::memory_order_acquire); }

  bool is_open() const noexcept { return state_.load(std::memory_order_relaxed) == claim_state::open; }

  // For a claim that is used repeatedly (a fiber's own park): opens it, and returns the former state.
  claim_state reopen() noexcept { return state_.exchange(claim_state::open, std::memory_order_acquire); }
  // Opens the claim after a park for a grant. The granter has usually opened it.
  void renew() noexcept {
    if (!is_open())
      reopen();
  }
  // A wake that is kept until the next wait. Returns true if the caller must make the waiter ready.
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

}  // namespace sennit::inline v0_1::detail
