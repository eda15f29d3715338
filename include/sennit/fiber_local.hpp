// sennit::fiber_local<T>: a variable of which each fiber has its own copy.
// room: sched
//
//   sennit::fiber_local<std::string> user;  // like a thread_local: a global, or a static member
//   *user = "ann";                          // this fiber's, on whichever worker it runs
//
// A thread_local does not do this: the fibers of one thread share it, and a fiber that resumes on another
// worker finds another one there.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

namespace detail {

struct local_value {
  std::uint64_t key;
  void (*destroy)(local_value& self) noexcept;
  local_value* next = nullptr;
};

// The keys of values that belong to Sennit.
namespace local_key {
inline constexpr std::uint64_t yield_continuation = 0;
inline constexpr std::uint64_t restart = 1;
inline constexpr std::uint64_t first_of_users = 2;
}  // namespace local_key
// Never one of these, never the same again. Any thread.
std::uint64_t next_local_key() noexcept;
// The values of the calling fiber, newest first. Outside of fibers those of the calling thread; then it may
// throw std::bad_alloc.
local_value*& local_values();
// Destroys them.
void end_fiber_locals() noexcept;
// The pointer to the value of that key in a list, or the last pointer, which is null.
inline local_value** find_local(local_value*& values, std::uint64_t key) noexcept {
  local_value** at = &values;
  while (*at != nullptr && (*at)->key != key)
    at = &(*at)->next;
  return at;
}
// Destroys the value of that key, if there is one.
inline void clear_local(local_value*& values, std::uint64_t key) noexcept {
  local_value** const at = find_local(values, key);
  if (local_value* const old = *at) {
    *at = old->next;
    old->destroy(*old);
  }
}

}  // namespace detail

/// A variable of which each fiber has its own copy, of type T. It works in fibers of every runtime. Outside
/// of fibers each OS thread has its own.
///
/// - Begin: a fiber's value is made, as `T()`, when the fiber first uses it. An exception of T's
///   constructor, or `std::bad_alloc`, leaves that use; the next use tries again.
/// - End: the value is destroyed on the fiber's stack when the fiber's function has returned or was left.
///   Newer values are destroyed first. Destructors may block and may use other fiber-locals. They must not
///   throw.
/// - Threads: any number may use one object at the same time. Other fibers and threads may use a fiber's
///   value as far as its type allows it.
/// - Cost: a search among the values that the fiber has, and one allocation for each value.
///
/// The object may be destroyed before its values are, unless fibers still use it.
template <class T>
class fiber_local {
public:
  /// Makes the variable, without values.
  fiber_local() noexcept = default;
  fiber_local(const fiber_local&) = delete;
  fiber_local& operator=(const fiber_local&) = delete;

  /// The calling fiber's value.
  T& operator*() { return get(); }
  /// Access to a member of the calling fiber's value.
  T* operator->() { return &get(); }
  /// The calling fiber's value, which is made if the fiber has none.
  T& get() {
    detail::local_value*& values = detail::local_values();
    for (detail::local_value* each = values; each != nullptr; each = each->next)
      if (each->key == key_)
        return static_cast<holder*>(each)->value;
    auto* const made = new holder(key_);
    made->next = values;
    values = made;
    return made->value;
  }

private:
  struct holder : detail::local_value {
    explicit holder(std::uint64_t of)
        : local_value{of, [](local_value& self) noexcept { delete static_cast<holder*>(&self); }} {}
    T value{};
  };

  const std::uint64_t key_ = detail::next_local_key();
};

}  // namespace sennit::inline v0_1
