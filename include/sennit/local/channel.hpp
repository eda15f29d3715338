// sennit::local::channel: values handed from fiber to fiber of one local runtime.
// room: sync
//
//   sennit::local::channel<int> squares;  // rendezvous: a send waits for its receive
//   auto producer = sennit::local::spawn([&] {
//     for (int i = 0; i < 3; ++i)
//       squares.send(i * i);
//     squares.close();
//   });
//   for (int square : squares)
//     std::cout << square << '\n';
//
// Source: Dolan 2013, section 5.1 (an Occam-style blocking channel; a message stays in registers).
#pragma once

#include "sennit/detail/sync/basic_channel.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::channel, with the same members and results, without atomic operations, for the fibers of
/// one local runtime at a time. With capacity 0 a value of a trivial type of at most 8 bytes
/// passes in the register that the switch hands over; other values are moved once.
template <class T>
class channel final : public detail::basic_channel<T, detail::one_thread> {
public:
  using detail::basic_channel<T, detail::one_thread>::basic_channel;
};

}  // namespace sennit::inline v0_1::local
