#include "sennit/detail/arch/countdown.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace {

using sennit::detail::countdown;

TEST(Countdown, TellsTheLast) {
  countdown c(3);
  EXPECT_FALSE(c.next_is_last());
  EXPECT_FALSE(c.count());
  EXPECT_FALSE(c.count());
  EXPECT_TRUE(c.next_is_last());
  EXPECT_TRUE(c.count());
}

TEST(Countdown, CountsOnOverEachLast) {
  countdown c(1);
  std::uint32_t counted = 0;
  EXPECT_EQ(c.value(), 0u);
  for (std::uint32_t times = 1; times < 100; ++times) {
    EXPECT_TRUE(c.count());
    EXPECT_EQ(c.value(), ++counted);
    c.restart(times);
    EXPECT_EQ(c.value(), counted);
    for (std::uint32_t i = 1; i < times; ++i) {
      EXPECT_FALSE(c.count());
      EXPECT_EQ(c.value(), ++counted);
    }
  }
}

TEST(Countdown, TakesBackTheLast) {
  countdown c(2);
  EXPECT_FALSE(c.count());
  EXPECT_TRUE(c.count());
  c.take_back();
  EXPECT_EQ(c.value(), 1u);
  EXPECT_TRUE(c.next_is_last());
  EXPECT_TRUE(c.count());
}

TEST(Countdown, MayBeMadeToEndSooner) {
  countdown c(61);
  EXPECT_FALSE(c.count());
  c.restart(1);
  EXPECT_EQ(c.value(), 1u);
  EXPECT_TRUE(c.count());
  EXPECT_EQ(c.value(), 2u);
}

// The halves are read together: others never see a count that was not.
TEST(Countdown, IsSeenToGrowOneByOneByOthers) {
  countdown c(1);
  std::atomic<bool> over{false};
  std::uint32_t steps_back = 0;
  std::thread other([&] {
    for (std::uint32_t last = 0; !over;) {
      const std::uint32_t now = c.value();
      steps_back += static_cast<std::int32_t>(now - last) < 0;
      last = now;
    }
  });
  for (std::uint32_t i = 0; i < 2'000'000; ++i)
    if (c.count())
      c.restart(1 + i % 7);
  over = true;
  other.join();
  EXPECT_EQ(steps_back, 0u);
  EXPECT_EQ(c.value(), 2'000'000u);
}

}  // namespace
