// What a fiber of a scope (basic_scope.hpp) has with it, from its beginning to its end, on each of its stacks
// and while it has none: whom its end, its exceptions and its faults are told to, and how the scope's stop
// ends its waits.
//
// It is the first of the fiber's fiber-local values, and so goes with the fiber, and is the last of them to
// be destroyed: by that the scope sees the end. What the fiber throws comes to it in place of a joiner.
//
//   with a stack      its link is the outermost of the fiber's guards (stop.hpp)
//   without           the continuation's code is its own, `code_`, which leads to the real one: the lock says
//                     whether the fiber waits there, and a stop takes it out of what it waits for, as the
//                     runtime's end does. The continuation is destroyed then, and the fiber ends.
//
// Fibers of no scope pay nothing for this: their continuations' code is called as it is.
#pragma once

#include <exception>
#include <optional>
#include <stop_token>

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sched/continuation.hpp"
#include "sennit/detail/sched/stop.hpp"
#include "sennit/fiber_local.hpp"

namespace sennit::detail {

class scope_member : public local_value {
public:
  static constexpr std::uint64_t its_key = ~std::uint64_t{0};  // nobody else's

  // Of a fiber that has one, on whichever stack or none.
  static scope_member& of(const fiber& f) noexcept;

  // The calling fiber is it from now on, which owns it.
  void begin() noexcept;
  // The same of a fiber that begins without a stack, by a continuation that bind() has prepared.
  void begin(fiber& f) noexcept;
  // Throws std::bad_alloc.
  void bind(continuation& begins);

  // Where faults of the calling fiber go by its scope; null: nowhere.
  static const fault_hook* faults_of_caller() noexcept;

  // What one of the fiber's functions ended with.
  virtual void fail(std::exception_ptr error) noexcept = 0;

  // The fiber has got a stack: its waits there see the stop, and its faults go to the scope's hook. And its
  // function has been left: no more.
  void enter(fiber& f) noexcept;
  void leave(fiber& f) noexcept;

  // The code of what the fiber goes on with.
  continuation_code& lead_to(continuation_code& real) noexcept;
  // On a stack again, before anything else. True: a stop has ended the wait.
  bool end_wait() noexcept;

protected:
  // In a fiber of the same kind of runtime. `faults` may be null. Throws std::bad_alloc.
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
  static bool file(void* place, void* from, fiber& f) noexcept;
  static bool woken(void* place, fiber& f) noexcept;
  static bool withdraw(wait_site& site, fiber& f) noexcept;

  struct tell {
    scope_member& of;
    void operator()() const noexcept { of.stop(); }
  };
  void stop() noexcept;
  void arm(fiber& f) noexcept;
  // Under the lock: takes the fiber out of what it waits for, without a stack. False: somebody else has.
  bool take_out() noexcept;

  std::stop_token token_;
  const fault_hook* const faults_;
  stop_link link_;
  fiber* who_ = nullptr;
  spin_lock lock_;
  bool waits_ = false;    // without a stack
  bool stopped_ = false;  // so did it, until a stop came
  leading_code code_;
  std::optional<std::stop_callback<tell>> callback_;  // gone first: then nobody calls stop() any more
};

}  // namespace sennit::detail
