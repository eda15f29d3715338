// One fiber sends messages to another through a channel: rendezvous (capacity 0) or buffered. One message
// received is one operation.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

/// The parameters every program of this workload takes.
inline std::vector<parameter> channel_parameters() {
  return {{"capacity", {0, 64}, {0, 64}}, {"bytes", {8, 64}, {8, 64}}};
}

template <std::size_t Bytes>
using message = std::array<std::uint64_t, Bytes / 8>;

template <class Channel>
struct channel_user {
  Channel* channel;
  std::uint64_t messages;
  std::uint64_t sum = 0;
};

template <class Channel>
struct sender {
  static BENCH_INLINE void run(void* argument) {
    auto& user = *static_cast<channel_user<Channel>*>(argument);
    typename Channel::value_type message{};
    for (std::uint64_t i = 0; i < user.messages; ++i) {
      message.front() = i;
      user.channel->send(message);
      user.sum += i;
    }
  }
};

template <class Channel>
struct receiver {
  static BENCH_INLINE void run(void* argument) {
    auto& user = *static_cast<channel_user<Channel>*>(argument);
    for (std::uint64_t left = user.messages; left != 0; --left)
      user.sum += user.channel->receive().front();
  }
};

template <class Library, class Channel>
void measure_channel(program& program, const char* variant, long capacity) {
  constexpr long bytes = sizeof(typename Channel::value_type);
  program.measure(variant, {{"capacity", capacity}, {"bytes", bytes}}, "message", 1,
                  [&](std::uint64_t count) {
                    Channel channel(static_cast<std::size_t>(capacity));
                    channel_user<Channel> from{&channel, count}, to{&channel, count};
                    std::vector<typename Library::fiber> running;
                    running.emplace_back(distinct_entry<sender<Channel>>(0), &from);
                    running.emplace_back(distinct_entry<receiver<Channel>>(1), &to);
                    for (auto& each : running)
                      each.join();
                    require(from.sum == to.sum, "the channel lost a message");
                  });
}

/// Measures all sizes and capacities asked for. A channel of `T` is made from its capacity and has
/// `value_type`, `send(const T&)` and `T receive()`. Call it from a fiber.
template <class Library, template <class> class Rendezvous, template <class> class Buffered>
void measure_channels(program& program, const char* variant) {
  for (const long capacity : program.values("capacity")) {
    for (const long bytes : program.values("bytes")) {
      if (bytes == 8 && capacity == 0) {
        measure_channel<Library, Rendezvous<message<8>>>(program, variant, capacity);
      } else if (bytes == 8) {
        measure_channel<Library, Buffered<message<8>>>(program, variant, capacity);
      } else if (bytes == 64 && capacity == 0) {
        measure_channel<Library, Rendezvous<message<64>>>(program, variant, capacity);
      } else if (bytes == 64) {
        measure_channel<Library, Buffered<message<64>>>(program, variant, capacity);
      } else {
        program.unsupported(variant, {{"capacity", capacity}, {"bytes", bytes}},
                            "messages are of 8 or 64 bytes");
      }
    }
  }
}

}  // namespace bench
