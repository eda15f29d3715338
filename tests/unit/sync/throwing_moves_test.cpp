// Channels whose values throw when they are moved, among fibers of one and several workers and OS threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <vector>

#include "sennit/select.hpp"
#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

// Every fifth move throws, and leaves the value where it is.
struct risky {
  explicit risky(int number) noexcept : id(number) {}
  risky(risky&& other) {
    static std::atomic<unsigned> moves = 0;
    if (moves++ % 5 == 0)
      throw std::runtime_error("move");
    id = std::exchange(other.id, -1);
  }
  risky& operator=(risky&&) = delete;
  int id = -1;
};

auto in_ten_minutes() {
  return std::chrono::steady_clock::now() + 10min;
}

template <class Channel>
bool send_somehow(Channel& to, risky& value, int how) {
  if (how == 0)
    return to.send(std::move(value));
  if (how == 1)
    return to.send_until(std::move(value), in_ten_minutes()).status() == channel_status::success;
  bool done = false;
  select(on_send(to, std::move(value), [&](bool sent) { done = sent; }), on_timeout(in_ten_minutes(), [] {}));
  return done;
}

// -1: the channel is closed.
template <class Channel>
int receive_somehow(Channel& from, int how) {
  const auto id_of = [](const auto& got) { return got ? got->id : -1; };
  if (how == 0)
    return id_of(from.receive());
  if (how == 1)
    return id_of(from.receive_until(in_ten_minutes()));
  int id = -1;
  select(on_receive(from, [&](std::optional<risky>&& got) { id = id_of(got); }),
         on_timeout(in_ten_minutes(), [] {}));
  return id;
}

template <class Kind>
class ThrowingMoves : public kind_test<Kind> {};

KIND_TEST(ThrowingMoves, LoseAndRepeatNoValue) {
  constexpr int each_sends = 60;
  constexpr int fibers = 6;
  for (const std::size_t capacity : {0, 2}) {
    typename Kind::template channel<risky> through(capacity);
    const int sends = (fibers + Kind::threads(2)) / 2;
    std::atomic<int> senders = sends;
    std::vector<std::atomic<int>> received(static_cast<std::size_t>(sends * each_sends));
    std::atomic<int> throws = 0;
    const auto send = [&](int first) {
      for (int n = 0; n < each_sends; ++n)
        for (risky value(first + n); value.id != -1;)
          try {
            EXPECT_TRUE(send_somehow(through, value, n % 3));
            EXPECT_EQ(value.id, -1);
          } catch (const std::runtime_error&) {
            ++throws;
            EXPECT_EQ(value.id, first + n);
          }
      if (--senders == 0)
        through.close();
    };
    const auto receive = [&] {
      for (int n = 0, id = 0; id != -1; ++n)
        try {
          if ((id = receive_somehow(through, n % 3)) != -1)
            ++received.at(static_cast<std::size_t>(id));
        } catch (const std::runtime_error&) {
          ++throws;
        }
    };
    this->run_all(fibers, [&](int i) { i % 2 == 0 ? send(i / 2 * each_sends) : receive(); }, 2);
    EXPECT_GT(throws, 0);
    for (const std::atomic<int>& each : received)
      EXPECT_EQ(each, 1);
  }
}

// A select that chooses another case, or is left by an exception, does not take the value of on_send().
KIND_TEST_UP_TO(2, ThrowingMoves, ASelectLeavesAValueThatItDoesNotSend) {
  this->run([] {
    typename Kind::template channel<std::unique_ptr<int>> full;
    typename Kind::template channel<int> ready(1);
    auto value = std::make_unique<int>(7);
    const auto offer = [&](auto other) {
      return select(on_send(full, std::move(value), [](bool) {}), other());
    };
    EXPECT_EQ(offer([] { return on_timeout(1ms, [] {}); }), 1u);
    EXPECT_EQ(offer([] { return otherwise([] {}); }), 1u);
    ready.send(1);
    EXPECT_EQ(offer([&] { return on_receive(ready, [](std::optional<int>) {}); }), 1u);
    std::stop_source stop;
    stop.request_stop();
    {
      const stop_guard until(stop.get_token());
      EXPECT_THROW(offer([] { return on_timeout(in_ten_minutes(), [] {}); }), cancelled);
    }
    ASSERT_TRUE(value);
    auto receiver = Kind::spawn([&] { EXPECT_EQ(**full.receive(), 7); });
    EXPECT_EQ(offer([] { return on_timeout(in_ten_minutes(), [] {}); }), 0u);
    receiver.join();
    EXPECT_FALSE(value);
    value = std::make_unique<int>(8);
    full.close();
    EXPECT_EQ(offer([] { return on_timeout(in_ten_minutes(), [] {}); }), 0u);
    EXPECT_TRUE(value && *value == 8);
  });
}

}  // namespace
}  // namespace sennit
