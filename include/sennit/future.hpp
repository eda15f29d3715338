// sennit::future, sennit::promise: results to come, for fibers, OS threads and C++20 coroutines.
// room: sync
//
//   sennit::promise<int> promise;
//   sennit::future<int> answer = promise.get_future();
//   sennit::spawn([promise = std::move(promise)]() mutable { promise.set_value(42); }).detach();
//   answer.get();  // 42: blocks the fiber, not its worker
//
// A future is also what a C++20 coroutine returns. It can await futures, and whatever else can be awaited:
//
//   sennit::future<int> sum(sennit::future<int> a, sennit::future<int> b) {
//     co_return co_await a + co_await b;
//   }
//   sum(std::move(answer), other()).get();  // a fiber, or an OS thread, waits for a coroutine
#pragma once

#include "sennit/detail/sync/basic_future.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// As std::future, which is to say for one consumer. T is a type that can be moved, a reference, or void. Made
// by promise::get_future() or a coroutine's call. It may be given up at any time: the promise, or the
// coroutine, goes on alone.
//
//   threads  A future is used by one fiber or thread at a time, and its promise by another. All waits are for
//            fibers of any worker and OS threads. (A fiber of a local runtime blocks its thread.)
//   errors   std::future_error: no_state, when there is nothing to wait for (any more); broken_promise, from
//            get() and co_await, when the promise was destroyed unfulfilled.
//   end      A fiber whose runtime ends while it waits leaves; the future is as before. So it does where a
//            stop is requested: the wait throws sennit::cancelled (stop_guard.hpp).
//
//   get()            waits, and returns the result, which is moved, or throws what the promise was given. The
//                    future is empty then.
//   wait()           until the result, or an error, is there.
//   wait_until(deadline), wait_for(time)
//                    false: that (steady clock) has passed first. (std::future returns a std::future_status.)
//   ready()          whether get() would not wait.
//   valid()          whether there is a result to come, or that has come and was not taken. Never throws.
//   std::move(future).waiting(), .waiting_until(deadline)
//                    wait() and wait_until() without a stack, for become(), whose function gets the future
//                    again: ready(), or the deadline has passed.
//
//   co_await, on a future that may be an lvalue, takes its result as get() does; the future is empty from
//   then on. The coroutine is resumed by whoever fulfils the promise, inside that call: on that thread, and
//   on that fiber's stack if it is one (64 KiB unless it has asked for more). If the result is there already
//   it does not suspend. It must not be destroyed while it waits.
//
//   A coroutine that returns a future begins at once, on its caller's stack. It is gone, its variables and
//   parameters destroyed, before its future is ready. What it throws comes out of get(). While it runs it is
//   part of the fiber or thread that has called or resumed it: it may block it. If that fiber's runtime ends
//   in such a wait, so does the coroutine, and its promise is broken. Its call throws std::bad_alloc when
//   there is no memory.
template <class T>
using future = detail::basic_future<T, detail::wait_queue>;

// As std::promise. One that is destroyed before it is fulfilled breaks its promise: who waits gets a
// std::future_error. Fulfilling it resumes the coroutine that awaits it, if one does, before it returns; what
// that throws into its resumer comes out of here (of the destructor: it terminates). The promise may be
// destroyed meanwhile.
//
//   get_future()     its future; once.
//   set_value(value) fulfils it; set_value(), where T is void.
//   set_exception(exception_ptr)
//                    fulfils it with what get() is to throw; not null (asserted).
//   swap(promise&)   exchanges what they are to fulfil.
//
//   threads  Any; if several fulfil it at the same time, one of them does, and the others have an error.
//   errors   std::bad_alloc from the constructor: it makes the one allocation there is. std::future_error:
//            promise_already_satisfied, future_already_retrieved, no_state (it was moved from). If the value
//            throws when it is moved or copied, that comes out, and the promise is as before.
template <class T>
using promise = detail::basic_promise<T, detail::wait_queue>;

}  // namespace sennit
