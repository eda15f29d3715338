// The two kinds of runtime, for C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "error.hpp"
#include "sennit/fiber.hpp"
#include "sennit/local/fiber.hpp"

namespace sennit::inline v0_1::capi {

// A fiber's handle is the address of its descriptor, plus 1 in a parallel runtime. (The descriptor's `home`
// would tell, but another worker may change it at any time.)
inline sennit_fiber* handle_of(const detail::fiber& f, bool parallel) noexcept {
  return reinterpret_cast<sennit_fiber*>(reinterpret_cast<std::uintptr_t>(&f) + (parallel ? 1 : 0));
}
inline bool is_parallel(const sennit_fiber* handle) noexcept {
  return (reinterpret_cast<std::uintptr_t>(handle) & 1) != 0;
}
inline detail::fiber* descriptor_of(const sennit_fiber* handle) noexcept {
  return reinterpret_cast<detail::fiber*>(reinterpret_cast<std::uintptr_t>(handle) & ~std::uintptr_t{1});
}

}  // namespace sennit::inline v0_1::capi

namespace sennit::inline v0_1::detail {

struct handle_access {
  template <class Handle>
  static sennit_fiber* release(Handle&& handle) noexcept {
    return capi::handle_of(*std::exchange(handle.fiber_, nullptr), !std::is_same_v<Handle, local::fiber>);
  }
  template <class Handle>
  static Handle take(detail::fiber& f) noexcept {
    return Handle(f);
  }
  // The rest of a join, for a caller that has waited by itself. `done`: as local::fiber::wait() returns it.
  static void collect(local::fiber& handle, detail::fiber& done) { handle.collect(done); }
};

}  // namespace sennit::inline v0_1::detail

namespace sennit::inline v0_1::capi {

// Whether the calling fiber is that one.
inline bool is_caller(const detail::fiber& f) noexcept {
  const detail::worker* const w = detail::this_worker();
  return w != nullptr && w->ready.running() && w->ready.current == &f;
}

// Whether the caller is a fiber of a local runtime.
inline bool in_local_fiber() noexcept {
  return in_fiber() && detail::this_worker()->is_local();
}
inline bool in_parallel_fiber() noexcept {
  return in_fiber() && !detail::this_worker()->is_local();
}

// An object of one kind: its fibers are those of one local runtime, or of all parallel ones (and threads).
// `Kept`: a Shared, perhaps with more before it.
template <class Local, class Shared, class Kept = Shared>
class kinds {
public:
  template <class... Arguments>
  explicit kinds(bool shared, Arguments... arguments) : shared_(shared) {
    if (shared)
      ::new (static_cast<void*>(&shared_one_)) Kept(arguments...);
    else
      ::new (static_cast<void*>(&local_one_)) Local(arguments...);
  }
  kinds(const kinds&) = delete;
  kinds& operator=(const kinds&) = delete;
  ~kinds() {
    if (shared_)
      shared_one_.~Kept();
    else
      local_one_.~Local();
  }

  bool is_shared() const noexcept { return shared_; }
  Local& local() noexcept { return local_one_; }
  Shared& shared() noexcept { return shared_one_; }

  // Calls use(object).
  template <class Use>
  SENNIT_INLINE decltype(auto) with(Use&& use) {
    if (shared_)
      return use(shared());
    return use(local_one_);
  }
  // Whether the caller may use it without a wait, and may wait for it. (A fiber of a local runtime that waits
  // for a shared object blocks its thread.)
  SENNIT_INLINE bool may_use() const noexcept {
    const detail::worker* const w = detail::this_worker();
    return shared_ || w == nullptr || w->is_local();
  }
  SENNIT_INLINE bool may_wait() const noexcept {
    const detail::worker* const w = detail::this_worker();
    return shared_ || (w != nullptr && w->is_local() && w->ready.running());
  }
  // Likewise without a stack.
  bool may_become() const noexcept {
    const detail::worker* const w = detail::this_worker();
    return w != nullptr && w->ready.running() && w->is_local() != shared_;
  }

  static constexpr std::size_t shared_at = 0;

private:
  friend struct channel_layout;
  bool shared_;  // first
  union {
    Local local_one_;
    Kept shared_one_;
  };
};

// Counts those inside of a function that uses a local object beyond a wait, so that it is not destroyed under
// them.
class user {
public:
  explicit user(std::size_t& count) : count_(count) { ++count_; }
  user(const user&) = delete;
  user& operator=(const user&) = delete;
  ~user() { --count_; }

private:
  std::size_t& count_;
};

template <class Object, class... Arguments>
int create(Object** result, Arguments... arguments) {
  if (result == nullptr)
    return -EINVAL;
  return guarded([&] {
    *result = new Object(arguments...);
    return 0;
  });
}

// Gives back the handle of a fiber of a parallel runtime that has ended. Throws what left its function. (Its
// descriptor may be another fiber's at once.)
inline void collect_parallel(detail::fiber& ended) {
  ended.flags.owned = false;
  detail::handle_access::take<fiber>(ended).join();
}

}  // namespace sennit::inline v0_1::capi
