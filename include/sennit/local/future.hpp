// sennit::local::future, sennit::local::promise: results to come, among the fibers and C++20 coroutines of
// one local runtime.
// room: sync
//
//   sennit::local::promise<int> promise;
//   sennit::local::future<int> answer = promise.get_future();
//   sennit::local::spawn([promise = std::move(promise)]() mutable { promise.set_value(42); }).detach();
//   answer.get();  // 42: blocks the fiber, not the thread
//
// A C++20 coroutine may return a future. It can await futures, and whatever else can be awaited:
//
//   sennit::local::future<int> sum(sennit::local::future<int> a, sennit::local::future<int> b) {
//     co_return co_await a + co_await b;
//   }
//   sum(std::move(answer), other()).get();  // a fiber waits for a coroutine
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include "sennit/detail/sync/basic_future.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::future, with the same members and results, also for coroutines, without atomic operations. A
/// future, its promise, and the coroutine that returns or awaits it belong to no runtime, but only fibers of
/// one runtime at a time may use them. Outside of fibers they may be used as long as no wait is needed: to
/// wait there ends the program. `co_await` may be used there, because it suspends the coroutine.
template <class T>
using future = detail::basic_future<T, detail::one_thread>;

/// Like sennit::promise, with the same members and results, for one thread.
template <class T>
using promise = detail::basic_promise<T, detail::one_thread>;

}  // namespace sennit::inline v0_1::local
