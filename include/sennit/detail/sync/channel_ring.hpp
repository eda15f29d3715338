// Where a channel keeps its values: a ring with a fixed number of places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>  // for std::allocator, without the rest of <memory>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/look.hpp"
#include "sennit/detail/sched/faults_are_fatal.hpp"

namespace sennit::inline v0_1::detail {

// Moves and destructors of values run under the channel's lock.
template <class T>
using channel_moving = no_switch_here<has_nontrivial_move<T>>;

// `Size`: the type of its counts.
template <class T, class Size>
class channel_ring_base {
public:
  channel_ring_base(const channel_ring_base&) = delete;
  channel_ring_base& operator=(const channel_ring_base&) = delete;

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t size() const noexcept { return size_; }
  // Without the channel's lock.
  bool looks_filled() const noexcept { return look_ahead(size_) != 0; }
  bool looks_full() const noexcept { return look_ahead(size_) == capacity_; }

  // There is room.
  SENNIT_INLINE void push(T& value) {
    const channel_moving<T> meanwhile;
    const std::size_t place = std::size_t{first_} + size_;
    ::new (static_cast<void*>(places_ + (place < capacity_ ? place : place - capacity_))) T(std::move(value));
    ++size_;
  }
  T& front() noexcept { return places_[first_]; }
  SENNIT_INLINE void pop() {
    places_[first_].~T();
    first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    --size_;
  }

protected:
  channel_ring_base(Size capacity, T* places) noexcept : places_(places), capacity_(capacity) {}
  ~channel_ring_base() = default;

  T* places_;
  Size capacity_;
  Size first_ = 0;
  Size size_ = 0;
};

// Its memory exists as long as the channel.
template <class T>
class channel_ring : public channel_ring_base<T, std::size_t> {
public:
  // Throws std::bad_alloc.
  explicit channel_ring(std::size_t capacity)
      : channel_ring_base<T, std::size_t>(capacity,
                                          capacity == 0 ? nullptr : std::allocator<T>().allocate(capacity)) {}
  ~channel_ring() {
    for (; this->size_ != 0; this->pop()) {
    }
    if (this->capacity_ != 0)
      std::allocator<T>().deallocate(this->places_, this->capacity_);
  }

  SENNIT_INLINE bool has_room() const noexcept { return this->size_ != this->capacity_; }
  // A receiver without a stack begins to wait.
  void rest() noexcept {}
};

// Allocates its memory for the first value, and frees it when it is empty and a receiver without a stack
// waits. If there is no memory, it has no room, so that each send waits for its receiver.
template <class T>
class lazy_ring : public channel_ring_base<T, std::uint32_t> {
public:
  explicit lazy_ring(std::size_t capacity) noexcept
      : channel_ring_base<T, std::uint32_t>(
            capacity < UINT32_MAX ? static_cast<std::uint32_t>(capacity) : UINT32_MAX, nullptr) {}
  ~lazy_ring() {
    for (; this->size_ != 0; this->pop()) {
    }
    if (this->places_ != nullptr)
      free();
  }

  SENNIT_INLINE bool has_room() noexcept {
    return this->size_ != this->capacity_ && (this->places_ != nullptr || allocate());
  }
  SENNIT_INLINE void rest() noexcept {
    has_rested_ = true;
    if (this->places_ != nullptr)
      free();
  }
  // Returns whether rest() was called since the last call. For the receiver, without the lock.
  SENNIT_INLINE bool has_rested() noexcept { return std::exchange(has_rested_, false); }

private:
  static constexpr bool over_aligned = alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  [[gnu::noinline]] bool allocate() noexcept {
    const std::size_t bytes = std::size_t{this->capacity_} * sizeof(T);
    void* memory = nullptr;
    if constexpr (over_aligned)
      memory = ::operator new(bytes, std::align_val_t{alignof(T)}, std::nothrow);
    else
      memory = ::operator new(bytes, std::nothrow);
    this->places_ = static_cast<T*>(memory);
    return memory != nullptr;
  }
  [[gnu::noinline]] void free() noexcept {
    if constexpr (over_aligned)
      ::operator delete(static_cast<void*>(this->places_), std::align_val_t{alignof(T)});
    else
      ::operator delete(static_cast<void*>(this->places_));
    this->places_ = nullptr;
    this->first_ = 0;
  }

  bool has_rested_ = false;
};

// A policy whose channels have lazy rings.
template <class Policy>
struct with_lazy_ring : Policy {};
template <class T, class Policy>
struct ring_of {
  using type = channel_ring<T>;
};
template <class T, class Policy>
struct ring_of<T, with_lazy_ring<Policy>> {
  using type = lazy_ring<T>;
};

}  // namespace sennit::inline v0_1::detail
