// A spin lock that is biased towards the worker that takes it first (bias.hpp).
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
  SENNIT_INLINE void lock() noexcept SENNIT_THREAD_SAFETY(acquire_capability()) SENNIT_NOT_ANALYZED {
    const auto seen = bias_.seen();
    if (seen == bias::unbiased) [[unlikely]]
      lock_.lock();
    else if (!bias_.enter(seen)) [[unlikely]]
      decide();
  }
  SENNIT_INLINE void unlock() noexcept SENNIT_THREAD_SAFETY(release_capability()) SENNIT_NOT_ANALYZED {
    if (bias_.none()) [[unlikely]]
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
  bias bias_{true};
};

using biased_lock = basic_biased_lock<>;

// One of both, for select; or, as any_lock{}, none.
class any_lock {
public:
  any_lock() noexcept = default;
  explicit any_lock(spin_lock& is) noexcept : at_(&is), biased_(false) {}
  explicit any_lock(biased_lock& is) noexcept : at_(&is), biased_(true) {}

  void lock() const noexcept SENNIT_NOT_ANALYZED {
    if (biased_)
      static_cast<biased_lock*>(at_)->lock();
    else
      static_cast<spin_lock*>(at_)->lock();
  }
  void unlock() const noexcept SENNIT_NOT_ANALYZED {
    if (biased_)
      static_cast<biased_lock*>(at_)->unlock();
    else
      static_cast<spin_lock*>(at_)->unlock();
  }
  const void* at() const noexcept { return at_; }

private:
  void* at_;
  bool biased_;
};

}  // namespace sennit::inline v0_1::detail
