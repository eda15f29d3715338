// sennit::become: blocks a fiber without a stack.
// room: cont
//
// A fiber whose function returns sennit::continuation may block by returning one. Its frames return, and
// their destructors run. Its stack is then free for other fibers, and the fiber occupies 128 bytes if it
// keeps little state (see become()). When the result of the wait is available, the fiber resumes in the
// function that it has named, on an empty stack:
//
//   sennit::continuation serve(sennit::tcp_stream client);
//
//   sennit::continuation wait_for_work(worker_state state) {
//     return sennit::become(rest, state);        // until unpark() is called; then: rest(state)
//   }
//
// A loop of continuations runs in constant stack. A fiber may mix both kinds of waits.
//
// Source: Draves et al. 1991, sections 2.1 to 2.3 (blocking with a continuation, stack discarding and
// handoff; Figure 1), and 6 (at the level of the application).
#pragma once

#include <atomic>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/invoke.hpp"
#include "sennit/detail/cont/stoppable_wait.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/cont/waits.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1 {

namespace this_fiber {

// What become() may wait by, for fibers of both kinds of runtimes.

/// A wait for become(), for fibers of both kinds of runtime: until unpark() is called on the fiber's
/// handle. It ends at once if that has happened since the last park. become() without a wait uses this one.
inline detail::park_wait parking() noexcept {
  return {};
}
/// Like parking(), but gives up at a deadline. The function gets a bool: whether unpark() was called.
inline detail::timed_park_wait parking_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return detail::timed_park_wait(deadline);
}
/// A wait for become() that lets other ready fibers run first.
inline detail::yield_wait yielding() noexcept {
  return {};
}
/// A wait for become() that ends at a time of the steady clock.
inline detail::sleep_wait sleeping_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return detail::sleep_wait(deadline);
}
/// A wait for become() until a deadline that other threads may postpone meanwhile, each by a store. Use it
/// for the deadline of an idle connection or a lease.
///
/// A store wakes no fiber: at the old deadline the worker reads the new one. Thus a deadline that is
/// brought forward takes effect only at the old one. The atomic must exist until the fiber resumes.
inline detail::put_off_wait sleeping_until(
    const std::atomic<std::chrono::steady_clock::time_point>& deadline) noexcept {
  return detail::put_off_wait(deadline);
}
/// A wait for become() that ends after a duration.
template <class Rep, class Period>
detail::sleep_wait sleeping_for(std::chrono::duration<Rep, Period> time) {
  return sleeping_until(detail::deadline_after(time));
}

/// Sets the function with which the calling fiber resumes after a yield. From then on
/// the fiber does not return from a yield, until the function is cleared or set anew. It releases its stack
/// and later continues with function(state) on an empty stack, or function() without a state, as after
/// `return become(yielding(), function, state)`. Use it for a fiber that computes, and that begins at one
/// place after each yield in any case.
///
/// \code
///   sennit::continuation work(board* all) {
///     while (step* next = all->take())
///       next->run();               // yields, here and there, and need not know
///     return {};
///   }
///   sennit::this_fiber::set_yield_continuation(work, &board);
/// \endcode
///
/// It applies to this_fiber::yield() of both kinds of runtime, to sennit_self_yield(), and to the yields of
/// I/O that never had to wait. It does not apply to waits, nor to a hand-off by an unlock. It applies to a
/// yield at a check in compiled code (docs/explanation/preemption.md) only under conditions, because nothing
/// can be thrown there: the frames are discarded as they are. So none of them may have anything to destroy,
/// as far as their exception tables say (those of C code say nothing), no exception may be handled, and the
/// code must not be in a generator or coroutine. Nor does it apply in the function with which the fiber has
/// begun, because that may be compiled into a frame of Sennit's: spawn `become(this_fiber::yielding(),
/// function, state)` instead. Otherwise that yield returns normally. Put code that must not be interrupted
/// under a no_yield_guard.
///
/// The frames are unwound before the fiber yields, as at their runtime's end: destructors run, and locks
/// are released. To discard them would be quicker, but wrong, because code deep in a library does not know
/// what its callers hold. Thus:
/// - A handler that catches everything must rethrow. Otherwise the fiber stays in it.
/// - A yield in a noexcept function, such as a destructor, ends the program by `std::terminate()`. While an
///   exception is being thrown, and under a stop_shield, a yield returns normally.
/// - C code must have unwind tables. Its cleanups run if it is compiled with -fexceptions.
/// - The promise of a future that is destroyed in this way is broken.
///
/// `function` and `state` are stored with the fiber, and each yield continues with copies. They are
/// destroyed when they are cleared or set anew, and at the fiber's end. If a copy throws, or there is no
/// memory for it (`std::bad_alloc`), the yield throws that exception and has not yielded. To throw takes
/// much longer than to yield: if all callers can see the yield, `return become(yielding(), ...)` is the
/// cheaper form.
///
/// Only fibers may call it.
///
/// \throws std::bad_alloc if there is no memory
template <class Function, class State>
void set_yield_continuation(Function function, State state) {
  detail::yield_to(std::move(function), std::move(state));
}
/// Sets a yield continuation without a state. Otherwise like set_yield_continuation(function, state).
template <class Function>
void set_yield_continuation(Function function) {
  detail::yield_to(std::move(function), detail::no_state{});
}
/// Clears the yield continuation: yields return again. Does nothing if none is set.
inline void clear_yield_continuation() noexcept {
  detail::clear_yield_continuation("clear_yield_continuation");
}

}  // namespace this_fiber

/// A wait for become() until a fiber has ended; it is then joined. An exception that left its function is
/// thrown where the waiting fiber resumes, and leaves that fiber.
inline detail::join_wait<fiber> joining(fiber joined) noexcept {
  return detail::join_wait<fiber>(std::move(joined));
}
/// Like joining(fiber), for a fiber of a local runtime.
inline detail::join_wait<local::fiber> joining(local::fiber joined) noexcept {
  return detail::join_wait<local::fiber>(std::move(joined));
}
/// Like joining(), but gives up at a deadline. The function gets the handle again. It is empty if the fiber
/// was joined, and joinable() if the deadline passed first.
inline auto joining_until(fiber joined, std::chrono::steady_clock::time_point deadline) noexcept {
  return detail::timed_wait(joining(std::move(joined)), deadline);
}
/// Like joining_until(fiber, deadline), for a fiber of a local runtime.
inline auto joining_until(local::fiber joined, std::chrono::steady_clock::time_point deadline) noexcept {
  return detail::timed_wait(joining(std::move(joined)), deadline);
}

/// A wait for become() that also ends when a stop is requested. It wraps any wait, with or without a
/// deadline, except yielding():
///
/// \code
///   return sennit::become(sennit::stoppable(orders.receiving(), token), count_one, state);
/// \endcode
///
/// After a stop the function is called, and gets what it would get after a deadline, even if the wait has
/// none. Check the token to tell them apart. (A stop_guard throws in order to unwind the stack. Here there
/// is no stack to unwind, and the function decides what to do.) Instead of true, no_timeout or the result,
/// the function gets:
///
/// - parking, an event, a semaphore, a wait group, a (shared) mutex: false
/// - a socket, a listener, a readiness: false, it is not ready
/// - a barrier: false; the fiber has arrived nonetheless
/// - sleeping_for, sleeping_until: false, before that time
/// - a channel: an empty std::optional, or false
/// - a future, a fiber that is joined: the object again, not ready() or still joinable()
/// - a condition variable: a std::pair of the lock, which is held, and std::cv_status::timeout
/// - a port: an answer or a sending_result whose get() throws std::system_error (operation_canceled), or an
///   empty incoming
/// - an exception server: an empty fault
/// - selecting: the number of its cases; none was done
///
/// If the result is available when the wait begins, it is returned even if a stop was requested before. If
/// a stop and a result come at the same time, one of them ends the wait; a result that the function does
/// not get is not consumed.
///
/// Any thread may request the stop, at any time. The wait is kept in allocated memory. For a fiber of a
/// local runtime it must be made in that fiber, and throws `std::bad_alloc` if there is no memory for a
/// message from other threads.
template <class Wait>
  requires detail::is_continuation_wait<Wait> && detail::may_be_stopped<Wait>
auto stoppable(Wait wait, std::stop_token token) {
  return detail::stoppable_wait(detail::multi_wait_form(std::move(wait)), std::move(token));
}

/// Makes the continuation that a fiber's function returns in order to block. The fiber waits, and resumes
/// with function(state), or with function(state, result) if the wait has a result; without a state, with
/// function() or function(result). The function returns void or a continuation. An exception that leaves it
/// leaves the fiber.
///
/// This form waits as this_fiber::parking() does.
///
/// `function` and `state` may be of any type that moves without throwing. They are kept in the fiber's
/// descriptor if they and the data of the wait need at most 48 bytes. A function pointer takes 8, a lambda
/// without captures none; a wait with a deadline always needs more. Otherwise they are kept in a block of
/// memory, which the worker may have in reserve, and this may throw `std::bad_alloc`. When its runtime
/// ends, a fiber without a stack just ends, and its state is destroyed.
///
/// Guards in the frames, such as locks and a stop_guard, are released when the frames return. Use
/// stoppable() instead of a stop_guard.
template <class Function, class State>
continuation become(Function function, State state) {
  return detail::block(this_fiber::parking(), std::move(function), std::move(state));
}
/// Like become(function, state), without a state.
template <class Function>
continuation become(Function function) {
  return detail::block(this_fiber::parking(), std::move(function), detail::no_state{});
}
/// Blocks by a wait such as `channel::receiving()`. Otherwise like become(function, state).
template <detail::is_continuation_wait Wait, class Function, class State>
continuation become(Wait wait, Function function, State state) {
  return detail::block(std::move(wait), std::move(function), std::move(state));
}
/// Blocks by a wait, without a state. Otherwise like become(function, state).
template <detail::is_continuation_wait Wait, class Function>
continuation become(Wait wait, Function function) {
  return detail::block(std::move(wait), std::move(function), detail::no_state{});
}

/// Blocks by a wait for an object in the state, such as a stream. `wait_of(state)` is called first and
/// returns the wait; then the state is moved. A member function can be used:
///
/// \code
///   return sennit::become(&sennit::tcp_stream::reading, serve, std::move(client));
/// \endcode
template <class WaitOf, class Function, class State>
  requires detail::is_continuation_wait<std::invoke_result_t<WaitOf, State&>>
continuation become(WaitOf wait_of, Function function, State state) {
  auto wait = detail::invoke(std::move(wait_of), state);
  return detail::block(std::move(wait), std::move(function), std::move(state));
}

/// Blocks at any depth of calls, does not return, and continues as become() does. It is for C
/// (sennit_become()), and for code that knows all frames of its stack, because they are discarded as they
/// are: no destructor and no handler runs. Only guards and shields (stop_guard.hpp) are ended, and the
/// fiber's function object is destroyed. So the frames must not own anything. `function` and `state` must
/// be trivially copyable.
///
/// Builds of the library with assertions and without a sanitizer examine the frames. They end the program
/// with a message if
/// - a frame has something to destroy, as far as its exception tables say; the message names its function.
///   The caller's own frame is not examined if the wait has a destructor, as waits with a deadline have;
/// - an exception is handled or being thrown;
/// - the caller is a generator or coroutine, which could not be finished.
///
/// They report a pthread lock that is held, as for other waits. Outside of fibers the call is fatal in all
/// builds.
///
/// \throws std::bad_alloc if there is no memory; nothing has happened then
template <detail::is_continuation_wait Wait, class Function, class State>
[[noreturn, gnu::always_inline]] inline void become_now(Wait wait, Function function, State state) {
  detail::leave_from_here(std::move(wait), std::move(function), std::move(state));
}
/// Like become_now(wait, function, state), without a state.
template <detail::is_continuation_wait Wait, class Function>
[[noreturn, gnu::always_inline]] inline void become_now(Wait wait, Function function) {
  detail::leave_from_here(std::move(wait), std::move(function), detail::no_state{});
}
/// Like become_now(wait, function, state), until unpark() is called.
template <class Function, class State>
[[noreturn, gnu::always_inline]] inline void become_now(Function function, State state) {
  detail::leave_from_here(this_fiber::parking(), std::move(function), std::move(state));
}
/// Like become_now(wait, function, state), until unpark() is called, and without a state.
template <class Function>
[[noreturn, gnu::always_inline]] inline void become_now(Function function) {
  detail::leave_from_here(this_fiber::parking(), std::move(function), detail::no_state{});
}

}  // namespace sennit::inline v0_1
