// What C's inline operations reach of the objects in C++.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kind.hpp"
#include "sennit/detail/sync/low_lock_waiters.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::detail {

// The words of inline operations, and the parts of a condition's wait.
struct word_access {
  template <class Mutex>
  static bool is_locked(Mutex& mutex) noexcept {
    return (mutex.queue_.peek() & Mutex::word::locked) != 0;
  }
  // It lies before the list of waiters.
  template <class Object>
  static std::uintptr_t* word_of(Object& object) noexcept {
    static_assert(is_word_and_list<low_lock_waiters> && is_word_and_list<marked_waiters>);
    return reinterpret_cast<std::uintptr_t*>(&object.queue_.waiters().list()) - 1;
  }
  template <class Waiters>
  static constexpr bool is_word_and_list =
      std::is_standard_layout_v<Waiters> && sizeof(Waiters) == sizeof(std::uintptr_t) + sizeof(waiter_list);

  template <class Condition>
  static auto& queue_of(Condition& condition) noexcept {
    return condition.queue_;
  }
  // Of a waiter that is in the queue.
  template <class Mutex>
  static void unlock_behind(Mutex& mutex) {
    mutex.unlock_behind();
  }
  template <class Mutex>
  struct lock_again {
    Mutex& mutex;
    ~lock_again() { mutex.lock_again(); }
  };
};

}  // namespace sennit::inline v0_1::detail

namespace sennit::inline v0_1::capi {

// C's inline functions look for a local object's word where a shared one has this mark.
template <class Shared>
struct marked_as_shared {
  marked_as_shared() : word(detail::word_access::word_of(object)) {}
  operator Shared&() noexcept { return object; }
  std::uintptr_t* const word;
  const std::uintptr_t mark = SENNIT_OF_SHARED;
  Shared object;
};
template <class Local, class Shared>
using lock_kinds = kinds<Local, Shared, marked_as_shared<Shared>>;

template <class Front, class Kinds>
void should_fit([[maybe_unused]] Front& object, [[maybe_unused]] Kinds& kinds) noexcept {
  [[maybe_unused]] auto& front = reinterpret_cast<sennit_lock_front&>(object);
  assert(front.shared == kinds.is_shared());
  assert(kinds.is_shared() ? front.word == SENNIT_OF_SHARED
                           : &front.word == detail::word_access::word_of(kinds.local()));
}

}  // namespace sennit::inline v0_1::capi
