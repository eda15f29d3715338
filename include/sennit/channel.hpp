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

// As local::channel; who sends and who receives may be anywhere. A value is moved under a lock: its move must
// not block.
template <class T>
class channel : public detail::basic_channel<T, detail::shared_waits> {
public:
  using detail::basic_channel<T, detail::shared_waits>::basic_channel;
};

}  // namespace sennit
