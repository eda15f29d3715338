// The locks of all objects that a select waits for, taken in the order of their addresses, each once. Two
// selects may need the same locks: in one order for all, that cannot end in a deadlock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/thread_safety.hpp"

namespace sennit::inline v0_1::detail {

// Lock: a copyable reference to a lock (any_lock), with lock(), unlock() and at().
template <class Lock>
class basic_lock_set {
public:
  // `places`: memory for as many locks as are added.
  explicit basic_lock_set(Lock* places) noexcept : places_(places) {}
  basic_lock_set(const basic_lock_set&) = delete;
  basic_lock_set& operator=(const basic_lock_set&) = delete;
  ~basic_lock_set() { release(); }

  // In any order, and perhaps repeatedly. It is quick in the order of their addresses.
  void add(Lock added) noexcept {
    std::size_t to = count_;
    while (to != 0 && address(added) < address(places_[to - 1]))
      --to;
    if (to != 0 && places_[to - 1].at() == added.at())
      return;
    for (std::size_t i = count_++; i != to; --i)
      places_[i] = places_[i - 1];
    places_[to] = added;
  }
  void lock() noexcept SENNIT_NOT_ANALYZED {
    for (std::size_t i = 0; i != count_; ++i)
      places_[i].lock();
  }
  // A locked object may be gone once its lock was released, but not before. The set is empty then.
  void release() noexcept SENNIT_NOT_ANALYZED {
    while (count_ != 0)
      places_[--count_].unlock();
  }

private:
  static std::uintptr_t address(const Lock& of) noexcept { return reinterpret_cast<std::uintptr_t>(of.at()); }

  Lock* const places_;
  std::size_t count_ = 0;
};

}  // namespace sennit::inline v0_1::detail
