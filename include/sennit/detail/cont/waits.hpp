// Waits without a stack that need no object: for the fiber's own unpark, for its turn, for a time.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/either.hpp"
#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/fiber.hpp"
#include "sennit/local/fiber.hpp"

namespace sennit::inline v0_1::detail {

struct park_wait : continuation_wait {
  static constexpr const char* reason = "park";
  static bool file(fiber& f) noexcept { return file(f, parked_for_grant); }
  static bool file(fiber& f, claim_state as) noexcept;
  static bool withdraw(fiber& f) noexcept;
  static bool was_unparked(fiber& self) noexcept;
  static void end(fiber& self, std::uintptr_t, fiber_status) noexcept {
    if (self.home->is_local())
      was_unparked(self);
    else
      self.permit.renew();
  }
};

// Like park_wait, until a deadline. end() returns whether it was unparked. (The timer is gone by then: moves
// drop it.)
class timed_park_wait : public continuation_wait {
public:
  static constexpr const char* reason = park_wait::reason;
  explicit timed_park_wait(time_point until) noexcept : until_(until) {}
  timed_park_wait(timed_park_wait&& other) noexcept : until_(other.until_) {}
  bool file(fiber& f, token_watch* stop = nullptr) noexcept;
  static bool withdraw(fiber& f) noexcept { return park_wait::withdraw(f); }
  bool end(fiber& self, std::uintptr_t, fiber_status) noexcept { return park_wait::was_unparked(self); }

private:
  time_point until_;
  either<local_timer, fiber_timer> timer_;
};

struct yield_wait : continuation_wait {
  static constexpr const char* reason = yield_reason;
  bool file(fiber& f) noexcept;
  bool withdraw(fiber&) noexcept { return false; }
  void end(fiber&, std::uintptr_t, fiber_status) noexcept {}
};

// Keeps the function and the state. Each yield gets copies.
template <class Function, class State>
struct yields_to final : yield_continuation {
  yields_to(Function&& called, State&& with)
      : yield_continuation([](local_value& self) noexcept { delete static_cast<yields_to*>(&self); }),
        function(std::move(called)),
        state(std::move(with)) {}
  continuation make() const override { return block(yield_wait{}, Function(function), State(state)); }

  [[no_unique_address]] Function function;
  [[no_unique_address]] State state;
};

template <class Function, class State>
void yield_to(Function&& function, State&& state) {
  static_assert(std::is_copy_constructible_v<Function> && std::is_copy_constructible_v<State>,
                "each yield resumes with a copy");
  running_worker_for("set_yield_continuation");
  set_yield_continuation(new yields_to<Function, State>(std::move(function), std::move(state)));
}

// Gives up the caller's frames. (A wait is an argument in its frame, which destroys it.)
template <class Wait, class Function, class State>
[[noreturn, gnu::noinline]] void leave_from_here(Wait&& wait, Function&& function, State&& state) {
  static_assert(std::is_trivially_copyable_v<Function> && std::is_trivially_copyable_v<State>,
                "the continuation of a fiber that leaves its frames must be trivially copyable");
  may_leave_frames("become_now", __builtin_dwarf_cfa(), std::is_trivially_destructible_v<Wait> ? 0 : 1);
  leave_frames(block(std::move(wait), std::move(function), std::move(state)));
}

class sleep_wait : public continuation_wait {
public:
  static constexpr const char* reason = "sleep";
  explicit sleep_wait(time_point until) noexcept : until_(until) {}
  sleep_wait(sleep_wait&& other) noexcept : until_(other.until_) {}
  bool file(fiber& f, token_watch* stop = nullptr) noexcept;
  bool withdraw(fiber& f) noexcept;
  void end(fiber&, std::uintptr_t, fiber_status) noexcept {}

protected:
  bool file_until(fiber& f, time_point until) noexcept {
    until_ = until;
    return file(f);
  }

private:
  struct shared_timer {
    wait_claim claim;
    fiber_timer timer;
  };
  time_point until_;
  either<local_timer, shared_timer> timer_;
};

// Waits until a deadline that others may postpone. The worker that fires the timer sees that, and files the
// fiber again.
class put_off_wait : public sleep_wait {
public:
  explicit put_off_wait(const std::atomic<time_point>& until) noexcept
      : sleep_wait(until.load(std::memory_order_acquire)), deadline_(&until) {}
  bool file(fiber& f) noexcept { return sleep_wait::file(f); }
  bool woken(fiber& f) noexcept;

private:
  const std::atomic<time_point>* deadline_;
};

struct join_access {
  template <class Handle>
  static fiber& of(const Handle& handle) noexcept {
    return *handle.fiber_;
  }
};

// `Handle`: a sennit::fiber, or one of a local runtime.
template <class Handle>
class join_wait : public continuation_wait {
public:
  static constexpr const char* reason = join_reason;
  static constexpr bool in_slot = true;
  SENNIT_OBJECT_AT(join_wait, joined_)  // the awaited object is the handle's fiber
  explicit join_wait(Handle&& joined) noexcept : joined_(std::move(joined)) {
    assert(joined_.joinable() &&
           "sennit: join of a handle that is empty: joined or detached before, or moved from");
  }
  bool file(fiber& f) noexcept { return file(f, f); }
  bool withdraw(fiber& f) noexcept { return leave(f); }
  void end(fiber&, std::uintptr_t, fiber_status) { joined_.join(); }  // it has ended: throws what it threw

  // For timed_wait. Returns the handle again: empty, if the fiber was joined.
  bool file(fiber& f, waiter& me) noexcept;
  bool leave(waiter& me) noexcept;
  Handle end_by(time_point, bool in_time) {
    if (in_time || has_ended())
      joined_.join();
    return std::move(joined_);
  }

private:
  static constexpr bool is_parallel = std::is_same_v<Handle, sennit::fiber>;
  bool has_ended() const noexcept;

  Handle joined_;
};

extern template class join_wait<sennit::fiber>;
extern template class join_wait<sennit::local::fiber>;

}  // namespace sennit::inline v0_1::detail
