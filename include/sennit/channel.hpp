// sennit::channel: values handed from fiber to fiber, on any worker of any parallel runtime, and OS
// threads.
// room: sync
//
//   sennit::channel<int> squares;  // rendezvous: a send waits for its receive
//   auto producer = sennit::spawn([&] {
//     for (int i = 0; i < 3; ++i)
//       squares.send(i * i);
//     squares.close();
//   });
//   for (int square : squares)
//     std::cout << square << '\n';
//
// Source: Dolan 2013, section 5.1 (an Occam-style blocking channel).
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_channel.hpp"

namespace sennit::inline v0_1 {

/// A queue of values with a fixed capacity, for any number of senders and receivers.
///
/// \code
///   channel<T> c(capacity);                              // capacity 0, the default: each send waits for
///                                                        // its receiver
///   bool c.send(T&& v);                                  // waits; false: closed, v is untouched
///   bool c.send(const T& v);                             // sends a copy
///   bool c.try_send(T& v);                               // moves from v; false: full or closed, v is
///                                                        // untouched
///   optional<T> c.receive();                             // waits; empty: closed, and nothing is left
///   optional<T> c.try_receive();                         // empty: there is no value now
///   channel_result<void> c.send_until(T&& v, deadline);  // true: sent; .status(): success, closed,
///                                                        // timeout
///   channel_result<T> c.receive_until(deadline);         // an optional<T> with .status(), likewise
///   void c.close();                                      // may be called again
///   bool c.closed();
///   size_t c.size(), c.capacity();                       // size: values at the moment
///   for (T& each : c)                                    // receives until the channel is closed and empty
///   // For become():
///   c.sending(v), c.receiving(), c.sending_until(v, deadline), c.receiving_until(deadline)
/// \endcode
///
/// - close(): sends that wait, and later sends, return false. Receivers get the values that are left, and
///   then an empty optional.
/// - Deadlines are points of the steady clock. select.hpp has cases for channels: on_send, on_receive.
/// - Order: first in, first out. Senders and receivers are served in the order in which they came. They
///   need not be served equally often: the fiber woken last may run first (run_policy.hpp), so that two of
///   three receivers may take most values.
/// - Capacity: with capacity 0 a value passes from the sender straight to the receiver. Otherwise a send
///   waits only while the channel is full.
/// - Values: T must be movable. Values are moved and destroyed under a lock, so that their move
///   constructors and destructors must not block, nor use this channel; debug builds report waits. If a move
///   throws, the exception leaves the call that moved the value, and the peer keeps waiting, at worst behind
///   the other waiters. A sender also throws what a receiver's attempt to move its value into the buffer
///   threw. A value whose move out of the buffer throws stays there.
/// - Threads: fibers of any parallel runtime, and OS threads. A fiber of a local runtime may use it, but
///   blocks its thread.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. The value then stays with its
///   sender.
/// - Misuse, asserted in debug builds: to destroy the channel while a fiber or thread waits. Values in it
///   are destroyed with it.
template <class T>
class channel final : public detail::basic_channel<T, detail::any_thread> {
public:
  using detail::basic_channel<T, detail::any_thread>::basic_channel;
};

}  // namespace sennit::inline v0_1
