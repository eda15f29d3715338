// A spin lock that may be biased towards a worker (bias.hpp).
//
// Source: Dolan 2013, section 6.3.
#pragma once

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/arch/thread_safety.hpp"
#include "sennit/detail/sync/bias.hpp"

namespace sennit::inline v0_1::detail {

template <class Memory = native_memory, class Caller = calling_worker, class Lock = spin_lock>
class SENNIT_THREAD_SAFETY(capability("spin lock")) basic_biased_lock {
  using bias = basic_bias<Memory, Caller>;

public:
  constexpr basic_biased_lock() noexcept : basic_biased_lock(false) {}
  constexpr explicit basic_biased_lock(bool is_biased) noexcept : bias_(is_biased) {}

  SENNIT_INLINE void lock() noexcept SENNIT_THREAD_SAFETY(acquire_capability()) SENNIT_NOT_ANALYZED {
    const auto seen = bias_.seen();
    if (seen == bias::unbiased) [[likely]]
      lock_.lock();
    else if (!bias_.enter(seen)) [[unlikely]]
      decide();
  }
  SENNIT_INLINE void unlock() noexcept SENNIT_THREAD_SAFETY(release_capability()) SENNIT_NOT_ANALYZED {
    if (bias_.none()) [[likely]]
      lock_.unlock();
    else
      bias_.leave();
  }

private:
  [[gnu::noinline]] void decide() noexcept SENNIT_NOT_ANALYZED {
    if (!bias_.decide())
      lock_.lock();
  }

  Lock lock_;
  bias bias_;
};

using biased_lock = basic_biased_lock<>;

}  // namespace sennit::inline v0_1::detail
