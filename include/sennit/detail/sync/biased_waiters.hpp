// The waiters of an object that may be biased towards a worker (bias.hpp).
//
// The owner of the bias does not set the bit `locked` of low_lock_waiters, because being inside has that
// meaning. The rest of that word is valid at all times, so a revocation leaves nothing to convert: a mutex
// that is locked remains locked. If its holder has moved to another worker, its unlock() revokes the bias.
//
// Source: Dolan 2013, section 6.3 and Figure 5.
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/native_memory.hpp"
#include "sennit/detail/sync/bias.hpp"
#include "sennit/detail/sync/lock_header.hpp"
#include "sennit/detail/sync/low_lock_waiters.hpp"

namespace sennit::inline v0_1::detail {

// Used as described in basic_wait_queue.hpp.
template <class Memory = native_memory, class Caller = calling_worker,
          class Waiters = basic_low_lock_waiters<Memory>>
class basic_biased_waiters {
  using bias = basic_bias<Memory, Caller>;

public:
  using state = std::uintptr_t;
  using number = typename bias::number;

  constexpr explicit basic_biased_waiters(const wait_options& how, state initial = 0) noexcept
      : bias_(how.bias), options(how), kept_(initial) {}

  lock_owner owner;  // first: waits know a mutex by its address

  // Also fails if the calling worker is not the owner: then it has to decide under the lock. (`unlikely`: the
  // time of the compare-and-swap hides a jump, and that of the owner's few instructions does not.)
  SENNIT_INLINE bool change_quickly(state from, state to, std::memory_order order) noexcept {
    const number seen = bias_.seen();
    if (seen == bias::unbiased) [[unlikely]]
      return kept_.change(from, to, order);
    if (!bias_.enter(seen)) [[unlikely]]
      return false;
    const bool may = kept_.change_as_only(from, to);
    bias_.leave();
    return may;
  }
  state peek(std::memory_order order) const noexcept { return kept_.peek(order); }
  bool quiet() const noexcept { return kept_.quiet(); }

  SENNIT_INLINE state lock() noexcept {
    if (bias_.seen() == bias::unbiased) [[likely]]
      return kept_.lock();
    return lock_by_bias();
  }
  SENNIT_INLINE void unlock(state now, bool changed) noexcept {
    if (bias_.none()) [[likely]]
      return kept_.unlock(now, changed);
    kept_.unlock_as_only(now);
    bias_.leave();
  }
  waiter_list& list() noexcept { return kept_.list(); }
  void push(waiter& w) noexcept { kept_.push(w); }
  number first_move() noexcept { return bias_.first_move(); }

private:
  [[gnu::noinline]] state lock_by_bias() noexcept {
    return bias_.decide() ? kept_.lock_as_only() : kept_.lock();
  }

  [[no_unique_address]] bias bias_;

public:
  lock_options options;

private:
  Waiters kept_;
};

using biased_waiters = basic_biased_waiters<>;

}  // namespace sennit::inline v0_1::detail
