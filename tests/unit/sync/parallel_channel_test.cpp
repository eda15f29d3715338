// Channels between fibers on several workers and OS threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sennit/channel.hpp"
#include "sennit/runtime.hpp"
#include "sync_fixture.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class ParallelChannel : public sync_test {};
INSTANTIATE_TEST_SUITE_P(Workers, ParallelChannel, every_worker_count);

TEST_P(ParallelChannel, ARendezvousHandsEachValueOver) {
  channel<int> values;
  std::atomic<long> sum{0};
  run_all(8, [&](int me) {
    for (int i = 1; i <= 300; ++i)
      if (me % 2 == 0) {
        EXPECT_TRUE(values.send(i));
      } else {
        sum += *values.receive();
      }
  });
  EXPECT_EQ(sum, 4 * 300 * 301 / 2);
}

TEST_P(ParallelChannel, ABufferKeepsTheOrder) {
  channel<std::string> values(5);
  EXPECT_EQ(values.capacity(), 5u);
  rt.run([&] {
    fiber producer = spawn([&] {
      for (int i = 0; i < 500; ++i)
        EXPECT_TRUE(values.send(std::to_string(i)));
      values.close();
    });
    int expected = 0;
    for (const std::string& value : values)
      EXPECT_EQ(value, std::to_string(expected++));
    EXPECT_EQ(expected, 500);
    EXPECT_FALSE(values.send("late"));
    EXPECT_FALSE(values.receive());
    producer.join();
  });
}

TEST_P(ParallelChannel, ClosingWakesWhoWaits) {
  channel<std::unique_ptr<int>> values;
  std::atomic<int> ended{0};
  rt.run([&] {
    std::vector<fiber> all;
    for (int i = 0; i < 100; ++i)
      all.push_back(spawn([&] {
        EXPECT_FALSE(values.receive());
        ++ended;
      }));
    this_fiber::sleep_for(1ms);
    values.close();
    for (fiber& each : all)
      each.join();
  });
  EXPECT_EQ(ended, 100);
}

TEST_P(ParallelChannel, ChannelsGiveUpAtTheirDeadlines) {
  channel<int> values;
  rt.run([&] {
    EXPECT_FALSE(values.receive_until(steady::now() + 2ms));
    EXPECT_FALSE(values.send_until(1, steady::now() + 2ms));
    EXPECT_FALSE(values.try_receive());
    int value = 3;
    EXPECT_FALSE(values.try_send(value));
  });
}

// Every value whose send succeeded is received once, and no other value is.
TEST_P(ParallelChannel, DeadlinesRaceWithMessages) {
  channel<int> values;
  std::atomic<long> sent{0};
  std::atomic<long> received{0};
  run_all(
      6,
      [&](int me) {
        for (int i = 1; i <= 300; ++i) {
          const auto deadline = steady::now() + std::chrono::microseconds((me * 5 + i) % 19);
          if (me % 2 == 0) {
            if (values.send_until(i, deadline))
              sent += i;
          } else if (const auto value = values.receive_until(deadline)) {
            received += *value;
          }
        }
      },
      2);
  EXPECT_EQ(sent, received);
}

}  // namespace
}  // namespace sennit
