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

namespace sennit::local {

// Its members are those of sennit::channel, whose header lists them. With capacity 0 a value goes from the
// sender straight to the receiver: in the register that the switch hands over if it is trivial and at most 8
// bytes, else moved once. It belongs to no runtime, but all its users must be fibers of one runtime at a
// time.
template <class T>
class channel : public detail::basic_channel<T, detail::local_waits> {
public:
  using detail::basic_channel<T, detail::local_waits>::basic_channel;
};

}  // namespace sennit::local
