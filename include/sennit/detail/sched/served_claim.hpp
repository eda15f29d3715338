// A claim whose wakers take the waiter out of a list, under the lock of an object that the waiter may destroy
// as soon as its wait has ended.
//
//   taken_before_   links claims that one waker has taken early      by the waker
//   released_       false until the waker has released the lock      by the waker, as its last access
//
// A parked waiter is made ready after the lock was released. A waiter that has not parked, or an OS thread,
// continues as soon as it sees its claim taken. So it waits until the waker releases it.
#pragma once

#include <utility>

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sched/claim.hpp"

namespace sennit::inline v0_1::detail {

template <class Memory = native_memory>
class basic_served_claim : public basic_claim<Memory> {
public:
  // The waiter is an OS thread, which sleeps on word().
  void set_sleeps() noexcept { sleeps_ = true; }

  // Ends the wait, under the object's lock. If the result is `early`, the claim is added to `taken`: the
  // waker's list, for release().
  claim_result serve(claim_state as, basic_served_claim*& taken) noexcept {
    const claim_result result = this->take(as);
    if (result == claim_result::won)
      released_.store(true, std::memory_order_relaxed);  // published when the waiter is made ready
    else if (result == claim_result::won_before_park)
      taken_before_ = std::exchange(taken, this);
    return result;
  }
  // As take_alone(): nothing is locked, and the waiter does not run at the same time.
  bool serve_alone(claim_state as) noexcept {
    released_.store(true, std::memory_order_relaxed);
    return this->take_alone(as);
  }
  // Releases all claims in the list, once the lock was released. `wake(word)` wakes a thread by the address
  // of the word, which may be gone.
  template <class Wake>
  static void release(basic_served_claim*& taken, Wake wake) noexcept {
    for (basic_served_claim* each = std::exchange(taken, nullptr); each != nullptr;) {
      basic_served_claim* const before = each->taken_before_;
      const bool sleeps = each->sleeps_;
      auto& word = each->word();
      each->released_.store(true, std::memory_order_release);
      if (sleeps)
        wake(word);
      each = before;
    }
  }

  // For a wait that has ended: returns whether a waker ended it, once the waker has released it.
  bool was_served() const noexcept {
    if (!is_taken(this->state()))
      return false;
    for (lock_pause<Memory> pause; !released_.load(std::memory_order_acquire);)
      pause();
    return true;
  }

private:
  typename Memory::template atomic<bool> released_{false};
  bool sleeps_ = false;
  basic_served_claim* taken_before_ = nullptr;
};

}  // namespace sennit::inline v0_1::detail
