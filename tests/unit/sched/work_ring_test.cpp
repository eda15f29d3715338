// The ring on real threads: tests/model explores what can happen, this is that it happens natively too.
#include "sennit/detail/sched/work_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

TEST(work_ring, is_first_in_first_out_and_bounded) {
  sennit::detail::work_ring<int, 4> ring;
  EXPECT_EQ(ring.pop(), 0);
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i <= 4; ++i)
      EXPECT_TRUE(ring.push(i));
    EXPECT_FALSE(ring.push(5));
    for (int i = 1; i <= 4; ++i)
      EXPECT_EQ(ring.pop(), i);
    EXPECT_EQ(ring.pop(), 0);
  }
}

TEST(work_ring, half_is_stolen_of_two_or_more) {
  sennit::detail::work_ring<int, 8> ring;
  std::vector<int> loot;
  const auto take = [&](int item) { loot.push_back(item); };
  EXPECT_EQ(ring.steal_half(take), 0U);
  ring.push(1);
  EXPECT_EQ(ring.steal_half(take), 0U);
  for (int i = 2; i <= 5; ++i)
    ring.push(i);
  EXPECT_EQ(ring.steal_half(take), 2U);
  EXPECT_EQ(ring.steal_half(take), 1U);  // goes on where the last one has ended
  EXPECT_EQ(loot, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(ring.pop(), 4);
  EXPECT_EQ(ring.pop(), 5);
  EXPECT_EQ(ring.pop(), 0);
}

TEST(work_ring, nothing_is_lost_between_threads) {
  constexpr std::uint64_t items = 50'000;
  sennit::detail::work_ring<std::uint64_t, 16> ring;
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> stolen{0};
  std::vector<std::thread> thieves;
  for (int t = 0; t < 2; ++t)
    thieves.emplace_back([&] {
      std::uint64_t sum = 0;
      while (!over.load(std::memory_order_relaxed))
        if (ring.steal_half([&](std::uint64_t item) { sum += item; }) == 0)
          std::this_thread::yield();
      stolen.fetch_add(sum);
    });
  std::uint64_t own = 0;
  for (std::uint64_t next = 1; next <= items;) {
    if (ring.push(next))
      ++next;
    else
      own += ring.pop();
  }
  while (const std::uint64_t item = ring.pop())
    own += item;
  over = true;
  for (std::thread& t : thieves)
    t.join();
  EXPECT_EQ(own + stolen.load(), items * (items + 1) / 2);
}

}  // namespace
