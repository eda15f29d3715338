// How a continuation is made from a wait, a function and a state, and taken apart again.
//
// A wait defines how a stackless fiber waits. It is part of the continuation, and stays in one place from
// file() until the wait has ended:
//
//   struct some_wait : continuation_wait {
//     static constexpr const char* reason = "...";  // for diagnostics
//     bool file(fiber& f) noexcept;           // as in continuation_code
//     bool withdraw(fiber& f) noexcept;       // as in wait_site; only in parallel runtimes
//     result end(fiber& self, std::uintptr_t word, fiber_status why) noexcept;  // on a stack again
//   };
//
// It may also have
//
//     // As in continuation_code: the waker does this in the fiber's place.
//     bool woken(fiber& f) noexcept;
//     // On a stack again, before end(). Returns false if it must be filed once more.
//     bool is_over() noexcept;
//
//     // The offset of the awaited object's address, for diagnostics.
//     SENNIT_OBJECT_AT(some_wait, member)
//
// Instead of end(), a wait that must be taken out quickly may have
//
//     // On a stack, in its original place, and once. The result has `get()`, which returns end()'s result.
//     // get() is called when the fiber has that stack. The result may be a reference into it.
//     auto bring(fiber_status why) noexcept;
//
// It may also have this function. The other ends then do not slow down the usual one: with a call on its path
// that returns, the compiler would save registers for all of them.
//
//     // On a stack, in its original place.
//     bool has_usual_end() const noexcept;
//
// file() may also return what continuation_code::file() returns. A wait in a list under a lock has a second
// form, which puts `me` there. A wait in a word (slot.hpp) that has that form, too, says so:
//
//     bool file(fiber& f, waiter& me) noexcept;  // me: the fiber, or a multi_wait_node of its wait
//     static constexpr bool in_slot = true;
//
// A wait may be moved before file(), and after its end, any number of times. Moves must not throw. If it
// still has to be taken out of somewhere before the move, it has this function, and does not fit a
// descriptor:
//
//     // On a stack, in its original place.
//     void leave(fiber& self, std::uintptr_t& word, fiber_status& why) noexcept;
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>  // for std::allocator, without the rest of <memory>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/invoke.hpp"
#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

struct continuation_wait {};
template <class T>
concept is_continuation_wait = std::derived_from<T, continuation_wait>;

template <class T>
concept waits_in_place =
    requires(T& wait, fiber& self, std::uintptr_t& word, fiber_status& why) { wait.leave(self, word, why); };

template <class T>
concept is_recognized = requires(T& wait, fiber& f) { wait.woken(f); };
template <class T>
concept brings_in_place = requires(T& wait, fiber_status why) { wait.bring(why).get(); };
template <class T>
concept knows_usual_end = requires(T& wait) {
  { wait.has_usual_end() } -> std::same_as<bool>;
};
template <class T>
concept may_have_claim = requires(T& wait, fiber& f, waiter& me) {
  { wait.file(f, me) } -> std::same_as<bool>;
};
template <class T>
concept waits_in_list = may_have_claim<T> && !requires { T::in_slot; };
template <class T>
concept may_wait_again = requires(T& wait) { wait.is_over(); };

// The offset of a member in bytes, computed by the compiler. These types have no standard layout, so offsetof
// is only conditionally supported. It also warns if a user's precompiled header instantiates them.
template <class Whole>
union unconstructed {
  unconstructed() = delete;
  ~unconstructed() {}
  unsigned char bytes[sizeof(Whole)];
  Whole object;  // only the addresses of its members are used
};
// Storage by an allocator: clang up to 17 lets no variable of such a union be in a constant expression.
template <class Whole, class Member>
constexpr std::size_t offset_of(Member Whole::* member) noexcept {
  std::allocator<unconstructed<Whole>> storage;
  unconstructed<Whole>* const whole = storage.allocate(1);
  const void* const address = __builtin_addressof(whole->object.*member);
  std::size_t offset = 0;
  while (static_cast<const void*>(whole->bytes + offset) != address)
    offset += alignof(Member);
  storage.deallocate(whole, 1);
  return offset;
}

// Defines `name()`, which returns the offset of a member in `type`.
#define SENNIT_PLACE_OF(name, type, member)            \
  static constexpr std::size_t name() noexcept {       \
    return ::sennit::detail::offset_of(&type::member); \
  }
#define SENNIT_OBJECT_AT(type, member) SENNIT_PLACE_OF(object_at, type, member)
template <class Wait>
concept says_object = requires { Wait::object_at(); };
// For a wait within another one, or in a place.
template <class Wait>
constexpr std::size_t object_within(std::size_t wait_at) noexcept {
  if constexpr (says_object<Wait>)
    return wait_at + Wait::object_at();
  else
    return continuation_code::no_object;
}

struct no_state {};

// The wait is over, and the fiber leaves the library: calls the function with the state, if there is one, and
// with the wait's result. (In the seed, threads return to user space in this way, with a system call's
// result.)
template <class Function, class State, class... Result>
continuation invoke_continuation(Function& function, State& state, Result&&... result) {
  const auto call = [&](auto&&... state_if_any) -> decltype(auto) {
    return detail::invoke(function, std::forward<decltype(state_if_any)>(state_if_any)...,
                          std::forward<Result>(result)...);
  };
  const auto finish = [&](auto&&... state_if_any) -> continuation {
    using returned = std::invoke_result_t<Function&, decltype(state_if_any)..., Result...>;
    static_assert(std::is_void_v<returned> || std::is_same_v<returned, continuation>,
                  "a continuation function must return void or sennit::continuation");
    if constexpr (std::is_void_v<returned>) {
      call(std::forward<decltype(state_if_any)>(state_if_any)...);
      return {};
    } else {
      return call(std::forward<decltype(state_if_any)>(state_if_any)...);
    }
  };
  if constexpr (std::is_same_v<State, no_state>) {
    return finish();
  } else if constexpr (std::invocable<Function&, State&, Result...>) {
    return finish(state);
  } else {
    static_assert(std::invocable<Function&, State, Result...>,
                  "the function takes the state, and what the wait brings");
    return finish(std::move(state));
  }
}

// Its address identifies the types. It is not const, so that no linker folds it with another one.
template <class Function, class State>
inline char resumes_by = 0;

// The state with which a fiber that waits without a stack resumes in this function; null if it does not, or
// has a state of another type. The fiber must not be able to resume meanwhile.
template <class State, class Function>
State* continuation_state(fiber& f, const Function& function) noexcept {
  if (!f.flags.stackless || continuation_of(f).resumes != &resumes_by<Function, State>)
    return nullptr;
  char* const place = static_cast<char*>(continuation_place(f));
  if constexpr (std::is_pointer_v<Function>)
    if (*reinterpret_cast<Function*>(place + continuation_of(f).function_at) != function)
      return nullptr;
  return std::launder(reinterpret_cast<State*>(place + continuation_of(f).state_at));
}

template <class Make>
struct made_by {
  Make make;  // returns the wait
};

template <class Wait, class Function, class State>
struct blocked {
  [[no_unique_address]] State state;
  [[no_unique_address]] Function function;
  [[no_unique_address]] Wait wait;  // destroyed first: it may refer to what the state owns

  blocked(State&& with, Function&& called, Wait&& by) noexcept
      : state(std::move(with)), function(std::move(called)), wait(std::move(by)) {}
  // A wait that cannot be moved cheaply is made in its place.
  template <class Make>
  blocked(State&& with, Function&& called, const made_by<Make>& by)
      : state(std::move(with)), function(std::move(called)), wait(by.make()) {}
  blocked(blocked&& from) noexcept
      : state(std::move(from.state)), function(std::move(from.function)), wait(std::move(apart(from.wait))) {}
  // Words that were just stored must not be loaded in pairs: the processor would wait for the stores.
  static Wait& apart(Wait& wait) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return wait;
  }

  static blocked& at(void* place) noexcept { return *static_cast<blocked*>(place); }
  static blocked& of(fiber& f) noexcept {
    return at(sizeof(blocked) > continuation_room ? f.overflow->room() : f.room());
  }

  // Two copies of the rest. Most fibers have no overflow, and nothing in their copy calls the library.
  static continuation run(fiber& self, coroutine_frame& frame) {
    if constexpr (sizeof(blocked) > continuation_room) {
      return run_with(self.overflow, self, frame);
    } else {
      if (self.overflow != nullptr || !has_usual_end(self)) [[unlikely]]
        return run_slowly(self, frame);
      return run_with(nullptr, self, frame);
    }
  }
  SENNIT_INLINE static bool has_usual_end(fiber& self) noexcept {
    if constexpr (knows_usual_end<Wait>)
      return of(self).wait.has_usual_end();
    else
      return true;
  }
  [[gnu::noinline]] static continuation run_slowly(fiber& self, coroutine_frame& frame) {
    return run_with(self.overflow, self, frame);
  }
  SENNIT_INLINE static continuation run_with(continuation_overflow* overflow, fiber& self,
                                             coroutine_frame& frame) {
    std::uintptr_t word = self.word;
    fiber_status why = self.flags.status;
    blocked& kept = of(self);
    if constexpr (waits_in_place<Wait>)
      kept.wait.leave(self, word, why);
    State state(std::move(kept.state));
    Function function(std::move(kept.function));
    if constexpr (brings_in_place<Wait>) {
      auto brought = kept.wait.bring(why);
      leave_place(self, frame, kept, overflow);
      return invoke_continuation(function, state, brought.get());
    } else {
      // What it has ended with, or an `again` to return.
      const auto end = [&]([[maybe_unused]] auto& again) {
        Wait ended(std::move(kept.wait));  // destroyed first: it may refer to what the state owns
        leave_place(self, frame, kept, overflow);
        if constexpr (may_wait_again<Wait>)
          if (why == fiber_status::notified && !ended.is_over())
            if ((again = block_again(ended, function, state)))
              return decltype(ended.end(self, word, why))();
        return ended.end(self, word, why);
      };
      using again_type = std::conditional_t<may_wait_again<Wait>, continuation, no_state>;
      using result_type = decltype(end(std::declval<again_type&>()));
      if constexpr (std::is_void_v<result_type> && may_wait_again<Wait>) {
        // Gone before the function is called, which may leave its frames.
        if (continuation again = run_in(end))
          return again;
        return invoke_continuation(function, state);
      } else if constexpr (std::is_void_v<result_type>) {
        no_state none;
        end(none);
        return invoke_continuation(function, state);
      } else {
        [[maybe_unused]] again_type again;
        auto result = end(again);
        if constexpr (may_wait_again<Wait>)
          if (again)
            return again;
        return invoke_continuation(function, state, std::move(result));
      }
    }
  }
  template <class End>
  static continuation run_in(End& end) {
    continuation again;
    end(again);
    return again;
  }
  // The continuation leaves its place: the fiber has a stack.
  SENNIT_INLINE static void leave_place(fiber& self, coroutine_frame& frame, blocked& kept,
                                        continuation_overflow* overflow) noexcept {
    kept.~blocked();
    stack_attach(self, frame, overflow);
    if (overflow != nullptr) [[unlikely]]
      continuation_overflow::destroy(overflow);
  }
  // Returns an empty continuation if there is no memory. Then the fiber waits with its stack.
  static continuation block_again(Wait& wait, Function& function, State& state) noexcept;
  static fiber* file(void* from, fiber& f) noexcept {
    if constexpr (sizeof(blocked) <= continuation_room) {
      if (from == nullptr) [[unlikely]]
        return file_in_place(f);
      move(from, f.room());
    }
    return file_moved(f);
  }
  [[gnu::noinline]] static fiber* file_in_place(fiber& f) noexcept { return file_moved(f); }
  SENNIT_INLINE static fiber* file_moved(fiber& f) noexcept {
    if constexpr (std::is_pointer_v<decltype(of(f).wait.file(f))>)
      return of(f).wait.file(f);
    else
      return of(f).wait.file(f) ? &f : nullptr;
  }
  static constexpr auto woken() noexcept -> bool (*)(void*, fiber&) noexcept {
    if constexpr (is_recognized<Wait>)
      return [](void* place, fiber& f) noexcept { return at(place).wait.woken(f); };
    else
      return nullptr;
  }
  static bool withdraw(wait_site&, fiber& f) noexcept { return of(f).wait.withdraw(f); }
  static void move(void* __restrict from, void* __restrict to) noexcept {
    const switches_refused<has_nontrivial_move<State> || has_nontrivial_move<Function>, switch_in::state>
        meanwhile;
    ::new (to) blocked(std::move(at(from)));
    at(from).~blocked();
  }
  static void drop(void* place) noexcept { at(place).~blocked(); }

  static std::uintptr_t entry([[maybe_unused]] const void* place) noexcept {
    if constexpr (std::is_pointer_v<Function>)
      return reinterpret_cast<std::uintptr_t>(static_cast<const blocked*>(place)->function);
    else
      return reinterpret_cast<std::uintptr_t>(run);  // its symbol contains the function's type
  }

  SENNIT_PLACE_OF(wait_at, blocked, wait)
  SENNIT_PLACE_OF(function_at, blocked, function)
  SENNIT_PLACE_OF(state_at, blocked, state)

  constinit inline static continuation_code code{{Wait::reason, withdraw},
                                                 run,
                                                 file,
                                                 woken(),
                                                 move,
                                                 drop,
                                                 entry,
                                                 run,
                                                 object_within<Wait>(wait_at()),
                                                 sizeof(blocked) > continuation_room,
                                                 waits_in_list<Wait>,
                                                 &resumes_by<Function, State>,
                                                 function_at(),
                                                 state_at()};
};

template <class Wait, class Made, class Function, class State>
continuation block_with(Made&& wait, Function&& function, State&& state) {
  using kept = blocked<Wait, Function, State>;
  static_assert(!waits_in_place<Wait> || sizeof(kept) > continuation_room);
  static_assert(std::is_nothrow_move_constructible_v<Function> && std::is_nothrow_move_constructible_v<State>,
                "what a fiber keeps while it has no stack is moved there and back, and must not throw");
  static_assert(alignof(kept) <= 16,
                "what a fiber keeps while it has no stack is aligned to 16 bytes at most");
  continuation made;
  ::new (continuation_access::begin<sizeof(kept)>(made))
      kept(std::move(state), std::move(function), std::forward<Made>(wait));
  continuation_access::finish(made, kept::code);
  return made;
}

template <class Wait, class Function, class State>
continuation block(Wait&& wait, Function&& function, State&& state) {
  static_assert(!std::is_reference_v<Wait> && !std::is_reference_v<Function> && !std::is_reference_v<State>);
  return block_with<Wait>(std::move(wait), std::move(function), std::move(state));
}
// Likewise, by the wait that `make()` returns.
template <class Function, class State, class Make>
continuation block_by(Make make, Function function, State state) {
  return block_with<std::invoke_result_t<Make&>>(made_by<Make&>{make}, std::move(function), std::move(state));
}

template <class Wait, class Function, class State>
continuation blocked<Wait, Function, State>::block_again(Wait& wait, Function& function,
                                                         State& state) noexcept {
  try {
    return block(std::move(wait), std::move(function), std::move(state));
  } catch (const std::bad_alloc&) {  // nothing was moved yet
    return {};
  }
}

}  // namespace sennit::inline v0_1::detail
