// sennit::fiber_local<T>: a variable of which each fiber has its own.
// room: sched
//
//   sennit::fiber_local<std::string> user;  // like a thread_local: a global, or a static member
//   *user = "ann";                          // this fiber's, on whichever worker it goes on
//
// A thread_local is no such thing: fibers of one thread share it, and one that goes on on another worker
// finds another there.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

namespace detail {

struct local_value {
  std::uint64_t key;
  void (*destroy)(local_value& self) noexcept;
  local_value* next = nullptr;
};

// Never 0, never the same again. Any thread.
std::uint64_t next_local_key() noexcept;
// The values of the calling fiber, newest first. Outside of fibers those of the calling thread; then it may
// throw std::bad_alloc.
local_value*& local_values();
// Destroys them.
void end_fiber_locals() noexcept;

}  // namespace detail

// Works in fibers of every runtime, and outside of fibers, where each OS thread has its own.
//
//   begin    A fiber's value is made, as T(), by the fiber's first use of it; what the constructor throws
//            comes out of that, and the next use tries again. std::bad_alloc.
//   end      It is destroyed when the fiber's function has returned or was left, on the fiber's stack; newer
//            ones first. A destructor may block, and may use other fiber-locals. It must not throw.
//   threads  Any may use one object at the same time. Who is not the fiber may use its value as the type
//            allows.
//   cost     A search among the values that the fiber has; one allocation for each.
//
// The object itself may be destroyed before the values are, unless fibers still use it.
template <class T>
class fiber_local {
public:
  fiber_local() noexcept = default;
  fiber_local(const fiber_local&) = delete;
  fiber_local& operator=(const fiber_local&) = delete;

  T& operator*() { return get(); }
  T* operator->() { return &get(); }
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

}  // namespace sennit
