// The ring on real threads: tests/model explores all interleavings; this checks that it works natively, too.
#include "sennit/detail/parallel/work_ring.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/ring_stress.hpp"

namespace {

using sennit::detail::native_memory;

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

TEST(work_ring, gives_the_newest_too) {
  sennit::detail::work_ring<int, 4> ring;
  EXPECT_EQ(ring.newest(), 0);
  EXPECT_EQ(ring.pop_newest(), 0);
  for (int i = 1; i <= 4; ++i)
    ring.push(i);
  EXPECT_EQ(ring.newest(), 4);
  EXPECT_EQ(ring.pop_newest(), 4);
  EXPECT_EQ(ring.pop(), 1);
  EXPECT_TRUE(ring.push(5));
  EXPECT_EQ(ring.owned(), 3U);
  EXPECT_EQ(ring.pop_newest(), 5);
  EXPECT_EQ(ring.pop_newest(), 3);
  EXPECT_EQ(ring.pop_newest(), 2);
  EXPECT_EQ(ring.pop_newest(), 0);
}

TEST(work_ring, goes_round) {
  sennit::detail::native_memory::prepare();
  sennit::detail::work_ring<int, 4> ring;
  EXPECT_EQ(ring.rotate(1), 1);  // there is no other
  for (int i = 1; i <= 4; ++i)
    ring.push(i);
  for (int i = 5; i <= 12; ++i)  // full all the time
    EXPECT_EQ(ring.rotate(i), i - 4);
  EXPECT_EQ(ring.owned(), 4U);
  EXPECT_TRUE(ring.full());
  EXPECT_EQ(ring.steal_late([](int) {}), 3U);  // one is leaving
  EXPECT_EQ(ring.rotate(13), 12);
  ring.clear_leaving();
  EXPECT_EQ(ring.steal_late([](int) {}), 1U);
  EXPECT_EQ(ring.rotate(14), 14);
  EXPECT_EQ(ring.owned(), 0U);
}

TEST(work_ring, who_is_leaving_is_not_stolen_from_the_slot) {
  sennit::detail::work_ring<int, 4> ring;
  ring.push(1);
  ring.mark_leaving(2);
  ring.put_next_slot(2);
  EXPECT_EQ(ring.steal_late([](int item) { EXPECT_EQ(item, 1); }), 1U);
  ring.clear_leaving();
  EXPECT_EQ(ring.steal_late([](int item) { EXPECT_EQ(item, 2); }), 1U);
  EXPECT_EQ(ring.take_next_slot(), 0);
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
  EXPECT_EQ(ring.might_have(), 5U);
  EXPECT_EQ(ring.steal_half(take), 2U);
  EXPECT_EQ(ring.might_have(), 3U);
  EXPECT_EQ(ring.steal_half(take), 1U);  // continues where the last one has ended
  EXPECT_EQ(loot, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(ring.owned(), 5U);
  EXPECT_EQ(ring.pop_newest(), 5);
  EXPECT_EQ(ring.owned(), 1U);
  EXPECT_EQ(ring.pop(), 4);
  EXPECT_EQ(ring.pop(), 0);
}

TEST(work_ring, the_only_one_is_stolen_unless_it_is_leaving) {
  sennit::detail::work_ring<int, 8> ring;
  std::vector<int> loot;
  const auto take = [&](int item) { loot.push_back(item); };
  EXPECT_EQ(ring.steal_lone(take), 0U);
  ring.put_next_slot(9);
  EXPECT_EQ(ring.steal_lone(take), 0U);
  ring.mark_leaving(1);
  ring.push(1);
  EXPECT_EQ(ring.steal_lone(take), 0U);
  ring.clear_leaving();
  EXPECT_EQ(ring.steal_lone(take), 1U);
  EXPECT_EQ(ring.pop_newest(), 0);
  for (int i = 2; i <= 5; ++i)
    ring.push(i);
  EXPECT_EQ(ring.steal_lone(take), 2U);  // of several as any thief
  EXPECT_EQ(loot, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(ring.pop(), 4);
  EXPECT_EQ(ring.take_next_slot(), 9);
}

TEST(work_ring, slot_holds_one) {
  sennit::detail::work_ring<int, 4> ring;
  EXPECT_EQ(ring.take_next_slot(), 0);
  EXPECT_EQ(ring.put_next_slot(1), 0);
  EXPECT_TRUE(ring.next_slot_taken());
  EXPECT_EQ(ring.put_next_slot(2), 1);
  EXPECT_EQ(ring.steal_half([](int) {}), 0U);
  EXPECT_EQ(ring.take_next_slot(), 2);
  EXPECT_FALSE(ring.next_slot_taken());
}

TEST(work_ring, late_thieves_take_all_but_who_is_leaving) {
  sennit::detail::work_ring<int, 4> ring;
  std::vector<int> loot;
  const auto take = [&](int item) { loot.push_back(item); };
  EXPECT_EQ(ring.steal_late(take), 0U);
  ring.put_next_slot(1);
  EXPECT_EQ(ring.steal_late(take), 1U);
  EXPECT_EQ(ring.steal_late(take), 0U);
  ring.push(2);
  ring.mark_leaving(3);
  ring.push(3);
  EXPECT_EQ(ring.steal_late(take), 1U);
  EXPECT_EQ(ring.steal_late(take), 0U);
  ring.clear_leaving();
  EXPECT_EQ(ring.steal_late(take), 1U);
  EXPECT_EQ(loot, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(ring.newest(), 3);  // by the owner's count
  EXPECT_EQ(ring.pop_newest(), 0);
  EXPECT_EQ(ring.put_next_slot(4), 0);
  EXPECT_EQ(ring.take_next_slot(), 4);
}

// ---- On threads, with what fences there are here; tests/unit/arch has them with full ones.

TEST(work_ring, loses_nothing_to_thieves_while_it_pops) {
  native_memory::prepare();
  support::steal_while_popping();
}

TEST(work_ring, loses_nothing_to_thieves_while_it_pops_the_newest) {
  native_memory::prepare();
  support::steal_while_popping_the_newest();
}

TEST(work_ring, loses_nothing_to_late_thieves_of_its_slot) {
  native_memory::prepare();
  support::steal_from_the_slot();
}

TEST(work_ring, loses_nobody_who_leaves_to_late_thieves) {
  native_memory::prepare();
  support::steal_while_leaving();
}

}  // namespace
