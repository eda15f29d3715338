// sennit::become: blocking without a stack.
// room: cont
//
// A fiber whose function returns sennit::continuation may block by returning one. Its frames return, with
// their destructors; its stack serves others meanwhile, and 128 bytes are left of it, if it keeps little (see
// become()). When what it waits for has come, it goes on in the function that it has named, on a stack that
// is empty:
//
//   sennit::continuation serve(sennit::tcp_stream client);
//
//   sennit::continuation wait_for_work(worker_state state) {
//     return sennit::become(rest, state);        // until somebody calls unpark(); then: rest(state)
//   }
//
// A loop by continuations runs in constant stack, and a fiber may block either way from one time to the next.
//
// Source: Draves et al. 1991, sections 2.1 to 2.3 (blocking with a continuation, stack discarding and
// handoff; Figure 1), and 6 (at the level of the application).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/stoppable_wait.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/cont/waits.hpp"
#include "sennit/detail/sched/deadline.hpp"

namespace sennit {

namespace this_fiber {

// What become() may wait by, for fibers of both kinds of runtimes.

// unpark() on the fiber's handle; or one that came since its last park. What become() waits by if nothing
// else is said.
inline detail::park_wait parking() noexcept {
  return {};
}
// The same until a deadline (steady clock); the function gets whether it was unparked.
inline detail::timed_park_wait parking_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return detail::timed_park_wait(deadline);
}
// Other ready fibers run first.
inline detail::yield_wait yielding() noexcept {
  return {};
}
// The time (steady clock).
inline detail::sleep_wait sleeping_until(std::chrono::steady_clock::time_point deadline) noexcept {
  return detail::sleep_wait(deadline);
}
// Until a deadline that others may put off meanwhile, each by a store: an idle connection's, a lease's.
// Nobody is woken for that: when the time that was has come, the worker that sees so looks what it is by
// then. (One that is brought forward is not seen before that.) `deadline` stays where it is until the fiber
// goes on.
inline detail::put_off_wait sleeping_until(
    const std::atomic<std::chrono::steady_clock::time_point>& deadline) noexcept {
  return detail::put_off_wait(deadline);
}
template <class Rep, class Period>
detail::sleep_wait sleeping_for(std::chrono::duration<Rep, Period> time) {
  return sleeping_until(detail::deadline_after(time));
}

// Until it is cleared or set anew, the calling fiber does not come back from a yield: it goes on, in its
// turn, by function(state), or function() without a state, on an empty stack, as after `return
// become(yielding(), function, state)`. For a fiber that computes, and would begin at one place after each
// yield in any case: it is in the way of nobody, and has no stack while others run.
//
//   sennit::continuation work(board* all) {
//     while (step* next = all->take())
//       next->run();               // yields, here and there, and need not know
//     return {};
//   }
//   sennit::this_fiber::set_yield_continuation(work, &board);
//
// Which yields: this_fiber::yield() of both kinds of runtime, sennit_self_yield(), and where I/O that never
// had to wait gives way. Not what waits, nor a handoff by an unlock. And where a check in compiled code makes
// the fiber yield (docs/compiler.md): nothing can be thrown there, so its frames are discarded as they are,
// and only where none of them has anything to destroy, as far as their tables say (those of C code say
// nothing), no exception is handled, and the code is in no generator or coroutine. Elsewhere it comes back as
// others do. What must be done whole goes under a no_yield_guard.
//
// The frames in between are unwound before the fiber gives way, as at their runtime's end: destructors run,
// and locks are let go. (To discard them would be quicker, and wrong: who yields deep inside of a library
// does not know what its callers hold.) So what holds for that holds here:
//
//   - A handler that catches everything must rethrow. One that does not keeps the fiber where it is.
//   - A yield in a function that is noexcept, as destructors are, ends the program by std::terminate(). Where
//     an exception is on its way, or behind a stop_shield, a yield comes back as others do.
//   - C code must have unwind tables; its cleanups run if it is compiled with -fexceptions.
//   - A future's promise that is dropped so is broken.
//
// `function` and `state` are kept with the fiber, however it blocks; each yield goes on with copies. They are
// destroyed when they are cleared, or set anew, and at the fiber's end. Where copying them throws, or
// there is no memory for them (std::bad_alloc), the yield throws that, and has not given way. To throw takes
// much longer than to yield: where all callers can see the yield, `return become(yielding(), ...)` is the
// cheap form.
//
// In a fiber. Throws std::bad_alloc.
template <class Function, class State>
void set_yield_continuation(Function function, State state) {
  detail::yield_to(std::move(function), std::move(state));
}
template <class Function>
void set_yield_continuation(Function function) {
  detail::yield_to(std::move(function), detail::no_state{});
}
// Yields come back again. Nothing, if none is set.
inline void clear_yield_continuation() noexcept {
  detail::clear_yield_continuation("clear_yield_continuation");
}

}  // namespace this_fiber

// The end of a fiber: it is joined. What it threw is thrown where the one that waits has gone on, and leaves
// that.
inline detail::join_wait<fiber> joining(fiber joined) noexcept {
  return detail::join_wait<fiber>(std::move(joined));
}
inline detail::join_wait<local::fiber> joining(local::fiber joined) noexcept {
  return detail::join_wait<local::fiber>(std::move(joined));
}
// The same until a deadline (steady clock); the function gets the handle again. If that is empty, the fiber
// was joined; else (it is joinable()) the deadline has passed.
inline auto joining_until(fiber joined, std::chrono::steady_clock::time_point deadline) noexcept {
  return detail::timed_wait(joining(std::move(joined)), deadline);
}
inline auto joining_until(local::fiber joined, std::chrono::steady_clock::time_point deadline) noexcept {
  return detail::timed_wait(joining(std::move(joined)), deadline);
}

// Any wait, with a deadline or without, until a stop is requested:
//
//   return sennit::become(sennit::stoppable(orders.receiving(), token), count_one, state);
//
// A stop is brought as a deadline is: the function is called, and gets what it would get if the deadline had
// passed, whether the wait has one or not; the token says which it was. (A stop_guard throws, since the
// frames of a wait with a stack must be left. Here they have been left, and only the function knows what
// becomes of its state. So what is written for a wait until a deadline does for this.) It gets:
//
//   parking, an event, a semaphore,    false
//     a wait group, a (shared) mutex
//   a socket, a listener, a readiness  false: nothing was there
//   a barrier                          false; it has arrived nonetheless
//   sleeping_for, sleeping_until       false: before that time
//   a channel                          an empty std::optional; false
//   a future, a fiber that is joined   it again: not ready(), joinable()
//   a condition variable               a std::pair of the lock, which is held, and std::cv_status::timeout
//   a port                             an answer, or a sending_result, whose get() throws std::system_error,
//                                      operation_canceled; an empty `incoming`
//   an exception server                an empty fault
//   selecting                          the number of its cases: none was done
//
// where it would else get true, what it waited for, or no_timeout. What is there when the wait begins is had,
// though a stop was requested before. Of a stop and what comes at the same time, one ends the wait: what the
// function does not get is as if it had not been waited for. yielding() is no wait.
//
// Any thread may request the stop, at any time. Such a wait lies in memory that is allocated. A fiber of a
// local runtime makes its waits itself: this throws std::bad_alloc where there is no memory for a message
// from other threads.
template <class Wait>
  requires detail::is_continuation_wait<Wait> && detail::may_be_stopped<Wait>
auto stoppable(Wait wait, std::stop_token token) {
  return detail::stoppable_wait(detail::claimed_form(std::move(wait)), std::move(token));
}

// To be returned by a fiber's function. The fiber waits, and goes on by function(state), or by
// function(state, result) if the wait brings a result; by function() or function(result) without a state.
// That returns void, or a continuation. What it throws leaves the fiber as what its first function throws.
//
// `function` and `state` are kept as they are, in the descriptor if they and what the wait needs are no more
// than 48 bytes together (a function pointer takes 8, a lambda without captures none; a wait until a deadline
// always takes more), else in memory of its own, which the worker may have at hand: then this may throw
// std::bad_alloc. They may be of any type that moves without throwing. At the runtime's end a fiber that has
// no stack just ends, and its state is destroyed.
//
// Guards that the frames held are let go when they return: a stop_guard (stoppable() is in its place), a
// lock.
template <class Function, class State>
continuation become(Function function, State state) {
  return detail::block(this_fiber::parking(), std::move(function), std::move(state));
}
template <class Function>
continuation become(Function function) {
  return detail::block(this_fiber::parking(), std::move(function), detail::no_state{});
}
template <detail::is_continuation_wait Wait, class Function, class State>
continuation become(Wait wait, Function function, State state) {
  return detail::block(std::move(wait), std::move(function), std::move(state));
}
template <detail::is_continuation_wait Wait, class Function>
continuation become(Wait wait, Function function) {
  return detail::block(std::move(wait), std::move(function), detail::no_state{});
}

// The same, where the wait is for something in the state: `wait_of(state)` is called first, and says what
// is waited for; the state is moved after that, as a stream may be that is waited for. A member function will
// do:
//
//   return sennit::become(&sennit::tcp_stream::reading, serve, std::move(client));
template <class WaitOf, class Function, class State>
  requires detail::is_continuation_wait<std::invoke_result_t<WaitOf, State&>>
continuation become(WaitOf wait_of, Function function, State state) {
  auto wait = std::invoke(std::move(wait_of), state);
  return detail::block(std::move(wait), std::move(function), std::move(state));
}

// The form that does not return: blocks at any depth, and goes on as become() does. For C (sennit_become())
// and for those who know what is on their stack, for all frames of the fiber are discarded as they are: no
// destructor runs, no handler sees anything. Only guards and shields (stop_guard.hpp) are let go, and the
// fiber's function object is destroyed. So nothing in them may own anything; function and state must be
// trivially copyable.
//
// Builds of the library with assertions and without a sanitizer look at the frames, and end the program with
// a message where
//   - one of them has something to destroy, as far as the compiler's tables for exceptions say: its function
//     is named (the caller's own is not looked at if the wait has a destructor, as those with a deadline
//     have);
//   - an exception is handled, or is on its way;
//   - it is called in a generator or coroutine, which could not be finished.
// They report a pthread lock that is held, as where others block. All builds end the program where there is
// no fiber. Throws std::bad_alloc, and nothing has happened.
template <detail::is_continuation_wait Wait, class Function, class State>
[[noreturn, gnu::always_inline]] inline void become_now(Wait wait, Function function, State state) {
  detail::leave_from_here(std::move(wait), std::move(function), std::move(state));
}
template <detail::is_continuation_wait Wait, class Function>
[[noreturn, gnu::always_inline]] inline void become_now(Wait wait, Function function) {
  detail::leave_from_here(std::move(wait), std::move(function), detail::no_state{});
}
template <class Function, class State>
[[noreturn, gnu::always_inline]] inline void become_now(Function function, State state) {
  detail::leave_from_here(this_fiber::parking(), std::move(function), std::move(state));
}
template <class Function>
[[noreturn, gnu::always_inline]] inline void become_now(Function function) {
  detail::leave_from_here(this_fiber::parking(), std::move(function), detail::no_state{});
}

}  // namespace sennit
