// The data of a scope's fiber (basic_scope.hpp), from its beginning to its end, with and without a stack. It
// reports the fiber's end, exceptions and faults to the scope, and lets the scope's stop end the fiber's
// waits.
//
// It is the first of the fiber's fiber-local values. So it moves with the fiber, and is destroyed last: this
// is how the scope sees the end. Exceptions of the fiber go to it instead of to a joiner.
//
//   with a stack      its link is the outermost of the fiber's guards (stop.hpp)
//   without           the continuation's code is its own, `code_`, which leads to the real one. The lock
//                     protects whether the fiber waits there. A stop removes the fiber from what it waits
//                     for, as the runtime's end does. Then the continuation is destroyed, and the fiber ends.
//
// Once a waker has taken the fiber out of an object's list, the object may be gone, although the fiber has
// not run yet. So in a parallel runtime the two compete for a claim. The waker takes it under the object's
// lock (waiter_kind::scope_fiber), and a stop before it touches the object. A fiber whose claim the stop has
// taken was not served: wakers pass it over, and the object exists until the fiber has ended. This concerns
// lists. All other waits have a claim of their own, or are in a word that exists as long as the wait.
//
// Fibers without a scope pay nothing for this: their continuations' code is called directly.
#pragma once

#include <exception>
#include <optional>
#include <stop_token>

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sched/claim.hpp"
#include "sennit/detail/sched/continuation.hpp"
#include "sennit/detail/wait/stop.hpp"
#include "sennit/fiber_local.hpp"

namespace sennit::inline v0_1::detail {

class scope_member : public local_value {
public:
  static constexpr std::uint64_t its_key = ~std::uint64_t{0};  // reserved

  // For a fiber that has one, on any stack or none.
  static scope_member& of(const fiber& f) noexcept;
  // The fiber waits in a list without a stack, and a waker takes it out, under that list's lock. Returns
  // false if a stop has ended the wait.
  bool taken() noexcept;

  // The calling fiber owns it from now on.
  void begin() noexcept;
  // For a fiber that begins without a stack, with a continuation that bind() has prepared.
  void begin(fiber& f) noexcept;
  // Throws std::bad_alloc.
  void bind(continuation& begins);

  // Returns where the calling fiber's faults go by its scope, or null.
  static const fault_hook* faults_of_caller() noexcept;

  // Reports the exception with which one of the fiber's functions ended.
  virtual void fail(std::exception_ptr error) noexcept = 0;

  // The fiber has got a stack: its waits there see the stop, and its faults go to the scope's hook. leave()
  // ends that, when its function has been left.
  void enter(fiber& f) noexcept;
  void leave(fiber& f) noexcept;

  // Returns the code to use instead of `real`.
  continuation_code& lead_to(continuation_code& real) noexcept;
  // Called first when the fiber has a stack again. Returns true if a stop has ended the wait.
  bool end_wait() noexcept;

protected:
  // Called in a fiber of the same kind of runtime. `faults` may be null. Throws std::bad_alloc.
  scope_member(std::stop_token token, const fault_hook* faults,
               void (*destroyed_by)(local_value& self) noexcept);
  ~scope_member() = default;

private:
  struct leading_code : continuation_code {
    scope_member* of = nullptr;
    continuation_code* real = nullptr;
  };
  static leading_code& code_of(fiber& f) noexcept { return static_cast<leading_code&>(continuation_of(f)); }
  static continuation run(fiber& f, coroutine_frame& frame);
  static fiber* file(void* from, fiber& f) noexcept;
  static bool woken(void* place, fiber& f) noexcept;
  static bool withdraw(wait_site& site, fiber& f) noexcept;

  struct on_stop {
    scope_member& of;
    void operator()() const noexcept { of.stop(); }
  };
  void stop() noexcept;
  void arm(fiber& f) noexcept;
  // Under the lock: removes the stackless fiber from what it waits for. Returns false if a waker has done
  // that. Then what it waited for may be gone.
  bool take_out() noexcept SENNIT_REQUIRES(lock_);

  std::stop_token token_;
  const fault_hook* const faults_;
  stop_link link_;
  fiber* who_ = nullptr;
  spin_lock lock_;
  bool waits_ SENNIT_GUARDED_BY(lock_) = false;    // without a stack
  bool stopped_ SENNIT_GUARDED_BY(lock_) = false;  // a stop has ended such a wait
  wait_claim claim_;                               // of a wait in a list
  waiter_kind kind_ = waiter_kind::fiber;          // the fiber's, without that wait
  leading_code code_;
  std::optional<std::stop_callback<on_stop>>
      callback_;  // destroyed first: then no thread calls stop() any more
};

}  // namespace sennit::inline v0_1::detail
