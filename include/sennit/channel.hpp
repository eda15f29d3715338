// sennit::channel: values handed from fiber to fiber, on any worker of any parallel runtime, and OS threads.
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

#include "sennit/detail/sync/basic_channel.hpp"
#include "sennit/detail/sync/shared_waits.hpp"

namespace sennit {

// First in, first out; any number of senders and receivers, each served in the order in which it came. (It
// need not come equally often: by run_policy.hpp who was woken last goes first, so that of three receivers
// two may take most.) T can be moved. With capacity 0 a value goes from the sender straight to the receiver.
// With a capacity, sends wait only when that many values lie in the channel.
//
//   channel(capacity = 0)  `capacity`: in values. Throws std::bad_alloc.
//   send(value)            waits until a receiver takes the value, or it lies in the channel. Returns false
//   if
//                          the channel is closed. An rvalue is moved from only if it was sent: a refused
//                          std::unique_ptr still owns its object.
//   send_until(value, deadline)
//                          gives up at the deadline (steady clock). Returns a channel_result<void>: true if
//                          the value was sent, and status() tells "closed" from "timed out".
//   try_send(value&)       moves from `value` if that need not wait, and returns true; else leaves it alone.
//   receive()              waits for the next value: a std::optional<T>. Empty: the channel is closed, and
//                          nothing is left in it.
//   receive_until(deadline)
//                          gives up at the deadline. Returns a channel_result<T>: a std::optional<T> whose
//                          status() tells "closed" from "timed out".
//   try_receive()          takes a value if there is one now; else empty.
//   begin(), end()         the values from now on, until it is closed and empty: for (T& each : channel).
//   close()                no more sends: those that wait return false, receivers get what is left and then
//                          nothing. May be repeated.
//   closed(), size(), capacity()
//                          whether it was closed; how many values lie in it just now; how many may.
//   sending(value), sending_until(value, deadline), receiving(), receiving_until(deadline)
//                          send() and receive() without a stack, for become(), whose function gets their
//                          result: a bool, or a std::optional<T>. T's move must be noexcept (checked when
//                          it compiles).
//
// select.hpp has cases for channels: on_send, on_receive.
//
//   threads  Any, and fibers of any parallel runtime. (A fiber of a local runtime blocks its thread.)
//            Values are moved and destroyed under a lock: that must not block, and debug builds report it.
//   errors   A wait throws sennit::cancelled if a stop is requested (stop_guard.hpp). The value then stays
//            with its sender. If T's move throws, the exception comes out of the call that moved. Its peer
//            goes on waiting, behind those that wait already. A sender also throws what moving its value into
//            the buffer threw in a receiver. What lies in the buffer stays there if its move throws.
//   misuse   Asserted: to destroy it while somebody waits. What lies in it then is destroyed with it.
template <class T>
class channel : public detail::basic_channel<T, detail::shared_waits> {
public:
  using detail::basic_channel<T, detail::shared_waits>::basic_channel;
};

}  // namespace sennit
