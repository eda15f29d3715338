// sennit::biased_channel and sennit::biased_semaphore: objects whose fibers stay on one worker.
// room: sync
//
//   sennit::biased_channel<int> numbers(64);
//   auto sends = sennit::spawn([&] { numbers.send(1); }, {.near = 1});
//   auto receives = sennit::spawn([&] { numbers.receive(); }, {.near = 1});
//
// They belong to the first worker that uses them, and its fibers need no atomic operations for them: a
// message takes a third of the time. Use by another worker or an OS thread removes the bias for good, which
// takes some microseconds; from then on they are slower than a channel or a semaphore by a test. So use them
// if all fibers have the same spawn_options::near or `pinned`. Where membarrier(2) is refused there is no
// bias.
//
// They are types of their own because the test would cost each message of any channel 17 instructions, beside
// its 67. A mutex and a condition variable have an option instead: wait_options::bias.
//
// Source: Dolan 2013, section 6.3.
#pragma once

#include <cstddef>

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_channel.hpp"
#include "sennit/detail/sync/basic_counting_semaphore.hpp"
#include "sennit/detail/sync/biased_lock.hpp"

namespace sennit::inline v0_1 {

namespace detail {

struct biased_semaphore_waiters : biased_waiters {
  explicit constexpr biased_semaphore_waiters(state initial) noexcept
      : biased_waiters(wait_options{.bias = true}, initial) {}
};

struct any_thread_biased : any_thread {
  using channel_lock = biased_lock;
  using semaphore_waiters = biased_semaphore_waiters;
};

}  // namespace detail

/// A channel whose senders and receivers are fibers of one worker. It has all members of sennit::channel, and
/// can be a case of a select beside others.
template <class T>
class biased_channel final : public detail::basic_channel<T, detail::any_thread_biased> {
public:
  using detail::basic_channel<T, detail::any_thread_biased>::basic_channel;
};

/// A semaphore that fibers of one worker use. It has all members of sennit::counting_semaphore.
class biased_semaphore final : public detail::basic_counting_semaphore<detail::any_thread_biased> {
public:
  using basic_counting_semaphore::basic_counting_semaphore;
};

}  // namespace sennit::inline v0_1
