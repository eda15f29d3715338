// sennit::future, sennit::promise: results to come, for fibers, OS threads and C++20 coroutines.
// room: sync
//
//   sennit::promise<int> promise;
//   sennit::future<int> answer = promise.get_future();
//   sennit::spawn([promise = std::move(promise)]() mutable { promise.set_value(42); }).detach();
//   answer.get();  // 42: blocks the fiber, not its worker
//
// A C++20 coroutine may return a future. It can await futures, and whatever else can be awaited:
//
//   sennit::future<int> sum(sennit::future<int> a, sennit::future<int> b) {
//     co_return co_await a + co_await b;
//   }
//   sum(std::move(answer), other()).get();  // a fiber, or an OS thread, waits for a coroutine
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_future.hpp"

namespace sennit::inline v0_1 {

/// Like `std::future`: a result to come, for one consumer. T is a movable type, a reference or void.
///
/// \code
///   T f.get();                  // waits; returns the result or throws the promise's exception; f is empty
///                               // then
///   void f.wait();              // until the result, or the exception, is available
///   bool f.wait_until(time);    // false: the time came first. std::future returns a future_status
///   bool f.wait_for(duration);  // likewise
///   bool f.ready();             // whether get() would not wait
///   bool f.valid();             // false: empty. All other members throw std::future_error (no_state) then
///   T value = co_await f;       // get() in a coroutine, which is suspended
///   // For become():
///   std::move(f).waiting(), std::move(f).waiting_until(deadline)
/// \endcode
///
/// A future is made by promise::get_future() or by the call of a coroutine. It may be destroyed at any
/// time; the promise or the coroutine then continues.
///
/// - Threads: one fiber or thread at a time uses a future, and another its promise. Fibers of any worker
///   and OS threads may wait. A fiber of a local runtime may wait as well, but blocks its thread.
/// - Errors: `std::future_error` with no_state if the future has no result to wait for, and with
///   broken_promise, from get() and co_await, if the promise was destroyed before it was fulfilled.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. The future is unchanged then,
///   and also if the fiber's runtime ends during the wait.
/// - Coroutines: `co_await` takes the result of a future as get() does; the future may be an lvalue and is
///   empty afterwards. It does not suspend if the result is available. Otherwise the thread that fulfils
///   the promise resumes the coroutine inside that call, on the stack of its fiber if it is one (64 KiB by
///   default). The coroutine must not be destroyed while it waits.
/// - A coroutine that returns a future begins at once, on its caller's stack. Its frame is destroyed, with
///   its variables and parameters, before its future is ready. What it throws leaves get(). While it runs
///   it is part of the fiber or thread that has called or resumed it, and may block it. If that fiber's
///   runtime ends in such a wait, the coroutine ends as well, and its promise is broken. The call throws
///   `std::bad_alloc` if there is no memory.
template <class T>
using future = detail::basic_future<T, detail::any_thread>;

/// Like `std::promise`: the other end of a future.
///
/// \code
///   promise<T> p;                 // makes the only allocation
///   future<T> p.get_future();     // call it once
///   void p.set_value(value);      // wakes the waiter; throws std::future_error if p was fulfilled before
///   void p.set_value();           // of a promise<void>
///   void p.set_exception(error);  // get() throws the error
///   void p.swap(other);           // a promise can also be moved, but not copied
///   ~promise();                   // not fulfilled: get() throws std::future_error (broken_promise)
/// \endcode
///
/// If it is destroyed before it is fulfilled, get() throws a `std::future_error` (broken_promise). To
/// fulfil it resumes the coroutine that awaits it, if there is one, before the call returns. What that
/// coroutine throws to its resumer leaves the call; from the destructor it terminates the program. The
/// promise may be destroyed meanwhile.
///
/// Any thread may fulfil it. If several do so at the same time, one of them succeeds, and the others get an
/// error.
template <class T>
using promise = detail::basic_promise<T, detail::any_thread>;

}  // namespace sennit::inline v0_1
