#include "sennit/detail/stack/stack.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/stacks.hpp"
#include "stacks.hpp"
#include "support/child.hpp"
#include "support/process.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace stack_test;
using support::count_mappings;
using support::in_child;
using support::resident_bytes;

TEST(Stack, SizesAreRoundedUpToPowersOfTwo) {
  held_stacks held;
  const std::pair<std::size_t, std::size_t> cases[] = {{0, 8192},          {1, 8192},         {8192, 8192},
                                                       {8193, 16384},      {65536, 65536},    {65537, 131072},
                                                       {1000000, 1 << 20}, {1 << 20, 1 << 20}};
  for (const auto& [wanted, given] : cases) {
    EXPECT_EQ(held.take(stack_class(wanted)).size, given);
    EXPECT_EQ(stack_class(wanted), given);
  }
}

TEST(Stack, SmallSizesAreForWhoAsksForThem) {
  for (const std::size_t wanted : {0, 1000, 1024, 1025, 4000, 4096, 5000, 100'000}) {
    const std::size_t given = std::bit_ceil(std::max(wanted, smallest_stack_size));
    EXPECT_EQ(stack_class(sennit::small_stack(wanted)), given);
    EXPECT_EQ(stack_class(given), std::max(given, minimum_stack_size));
    EXPECT_EQ(stack_take(given).size, given);
  }
}

TEST(Stack, SmallOnesShareAPageAndAreFound) {
  held_stacks held;
  constexpr std::size_t count = 3000;
  for (std::size_t i = 0; i < count; ++i)
    held.take(1024);
  const std::set<std::uintptr_t> lows = [&held] {
    std::set<std::uintptr_t> all;
    for (const stack_memory& each : held.all())
      all.insert(reinterpret_cast<std::uintptr_t>(each.low));
    return all;
  }();
  ASSERT_EQ(lows.size(), count);
  std::set<std::uintptr_t> pages;
  for (const std::uintptr_t low : lows)
    pages.insert(low / page_size);
  EXPECT_LE(pages.size(), count * smallest_stack_size / page_size + 16);
  for (const stack_memory& each : held.all()) {
    std::memset(each.low + stack_seal_size, 0x5a, each.size - stack_seal_size);
    const stack_record& record = name_stack(each, "small");
    for (const char* inside : {each.low, each.high() - 1}) {
      const stack_place place = stack_find(reinterpret_cast<std::uintptr_t>(inside));
      EXPECT_TRUE(place.found && !place.guard);
      EXPECT_EQ(place.low, each.low);
      EXPECT_EQ(place.size, each.size);
      EXPECT_EQ(place.record, &record);
    }
    stack_name(each, nullptr);
  }
  for (const stack_memory& each : held.all())
    EXPECT_TRUE(stack_is_whole(each));
}

TEST(Stack, OverrunWithoutAGuardEndsTheProgramWhenItIsGivenBack) {
  const auto result = in_child([] {
    alignas(16) static std::byte brought[16384];
    const stack_memory memory = stack_adopt(brought, sizeof brought);
    name_stack(memory, "greedy");
    memory.low[0] ^= 1;
    stack_give(memory);
  });
  EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
  EXPECT_TRUE(result.says("sennit: stack overflow in coroutine \"greedy\": its stack has 16384 bytes"))
      << result;
}

TEST(Stack, OverrunByOneWithoutANameIsReportedAsAllReportsSayIt) {
  for (const bool used : {false, true}) {
    const auto result = in_child([used] {
      alignas(16) static std::byte brought[9000];
      const stack_memory memory = stack_adopt(brought, sizeof brought);
      if (used)
        name_stack(memory, "");
      memory.low[0] ^= 1;
      stack_give(memory);
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.says(used ? "sennit: stack overflow in coroutine (unnamed): its stack has 9000 bytes"
                                 : "sennit: stack overflow in an unused stack: its stack"))
        << result;
  }
}

TEST(Stack, AdoptedOnesAreFoundWhileTheyAreInUse) {
  alignas(16) static std::byte brought[3][10000];
  for (int round = 0; round < 2; ++round)
    for (auto& each : brought) {
      const stack_memory memory = stack_adopt(each, sizeof each);
      EXPECT_EQ(memory.low, reinterpret_cast<char*>(each));
      EXPECT_EQ(memory.size, 10000u);
      EXPECT_TRUE(stack_is_adopted(memory));
      EXPECT_EQ(stack_find(reinterpret_cast<std::uintptr_t>(each + 5000)).low, memory.low);
      stack_give(memory);
      EXPECT_FALSE(stack_find(reinterpret_cast<std::uintptr_t>(each + 5000)).found);
    }
}

TEST(Stack, DepthIsThatOfTheDeepestWord) {
  held_stacks held;
  for (const std::size_t size : {2048, 65536}) {
    const stack_memory memory = held.take(size);
    stack_clear_below(memory, memory.high());
    auto* const record = ::new (memory.high() - 512) stack_record{.name = "deep", .memory = memory};
    const auto top = memory.high() - 512 + sizeof *record + 64;
    EXPECT_LE(stack_depth(memory, *record), sizeof *record + 64);
    memory.high()[-1700] = 1;
    const std::size_t depth = static_cast<std::size_t>(top - memory.high() + 1700);
    EXPECT_GE(stack_depth(memory, *record), depth);
    EXPECT_LT(stack_depth(memory, *record), depth + 8);
    stack_clear_below(memory, record);
    EXPECT_LE(stack_depth(memory, *record), sizeof *record + 64);
    EXPECT_STREQ(record->name, "deep");
  }
}

// Few keep their pages, so that a peak does not stay.
TEST(Stack, ManyIdleOnesGiveTheirPagesBack) {
  constexpr std::size_t size = 32768;
  constexpr std::size_t more = 500;
  const std::size_t warm = most_warm_stacks(size);
  held_stacks held;
  for (std::size_t i = 0; i < warm + more; ++i)
    std::memset(held.take(size).low, 1, size);
  const std::size_t at_peak = resident_bytes();
  const std::vector<stack_memory> all = held.all();
  held.give_all();
  const auto kept = [](const stack_memory& each) { return each.low[0] == 1; };
  EXPECT_EQ(static_cast<std::size_t>(std::count_if(all.begin(), all.end(), kept)), warm);
  EXPECT_LE(resident_bytes() + more * size / 4, at_peak);  // AddressSanitizer's notes of them come instead
}

TEST(Stack, IsAlignedToPagesAndWritableFromEndToEnd) {
  held_stacks held;
  for (std::size_t size = minimum_stack_size; size <= 1 << 20; size *= 2) {
    const stack_memory memory = held.take(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.low) % page_size, 0u);
    EXPECT_EQ(memory.high(), memory.low + size - stack_head_size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.high()) % 16, 0u);
    std::memset(memory.low, 0x5a, size);
    EXPECT_EQ(memory.high()[-1], 0x5a);
  }
}

TEST(Stack, HasAGuardBelowItThatCannotBeRead) {
  held_stacks held;
  for (int i = 0; i < 100; ++i) {
    const stack_memory memory = held.take(16384);
    EXPECT_FALSE(readable(memory.low - 1));
    EXPECT_FALSE(readable(memory.low - default_guard_size / 2));
    EXPECT_FALSE(readable(memory.low - default_guard_size));
    EXPECT_TRUE(readable(memory.low));
    EXPECT_TRUE(readable(memory.high() - 1));
  }
}

TEST(Stack, AWriteToItsGuardFaults) {
  const auto result = in_child([] {
    volatile char* low = stack_take(default_stack_size).low;
    low[0] = 1;
    low[-1] = 1;
  });
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Stack, TheOneGivenBackLastIsTakenFirst) {
  const std::array<stack_memory, 3> taken = {stack_take(32768), stack_take(32768), stack_take(32768)};
  for (const stack_memory& memory : taken)
    stack_give(memory);
  held_stacks held;
  for (std::size_t i = taken.size(); i-- > 0;)
    EXPECT_EQ(held.take(32768).low, taken[i].low);
}

TEST(Stack, OfAnotherSizeIsNeverGivenOut) {
  const stack_memory large = stack_take(1 << 18);
  stack_give(large);
  held_stacks held;
  EXPECT_NE(held.take(1 << 17).low, large.low);
  EXPECT_EQ(held.take(1 << 18).low, large.low);
}

TEST(Stack, ManyDoNotOverlap) {
  held_stacks held;
  for (int i = 0; i < 1000; ++i)
    held.take(i % 2 == 0 ? 8192 : 65536);
  auto all = held.all();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.low < b.low; });
  for (std::size_t i = 1; i < all.size(); ++i)
    ASSERT_GE(all[i].low, all[i - 1].high() + default_guard_size);
}

TEST(Stack, AMillionAreInFewMappings) {
  const auto result = in_child([] {
    const std::size_t before = count_mappings();
    held_stacks held;
    held.take(default_stack_size);
    const bool marked = guards == guard_method::marked;
#if defined(SUPPORT_ASAN) || defined(SUPPORT_TSAN)
    const bool all = false;  // their shadow memory takes mappings and time of its own
#else
    const bool all = marked;  // else the kernel, or an emulator, cannot mark guards: a mapping each
#endif
    const std::size_t count = all ? 1'000'000 : 20'000;
    while (held.all().size() != count)
      held.take(default_stack_size);
    EXPECT_LE(count_mappings() - before, marked ? (all ? 100 : count / 100) : 2 * count + 64);
    for (const std::size_t each : {std::size_t{0}, count / 2, count - 1}) {
      EXPECT_FALSE(readable(held.all()[each].low - 1));
      held.all()[each].high()[-1] = 1;
    }
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

TEST(Stack, IsFoundByAnyAddressInItOrItsGuard) {
  held_stacks held;
  const stack_memory memory = held.take(16384);
  const auto find = [](const char* address) { return stack_find(reinterpret_cast<std::uintptr_t>(address)); };
  for (const char* inside : {memory.low, memory.low + 5000, memory.high() - 1}) {
    const stack_place place = find(inside);
    EXPECT_TRUE(place.found);
    EXPECT_FALSE(place.guard);
    EXPECT_EQ(place.low, memory.low);
    EXPECT_EQ(place.size, 16384u);
    EXPECT_EQ(place.record, nullptr);
  }
  const stack_record& record = name_stack(memory, "mine");
  for (const char* guard : {memory.low - 1, memory.low - default_guard_size}) {
    const stack_place place = find(guard);
    EXPECT_TRUE(place.found);
    EXPECT_TRUE(place.guard);
    EXPECT_EQ(place.low, memory.low);
    EXPECT_EQ(place.record, &record);
  }
  stack_name(memory, nullptr);
  char elsewhere;
  EXPECT_FALSE(find(&elsewhere).found);
  EXPECT_FALSE(stack_find(0).found);
  EXPECT_FALSE(stack_find(~std::uintptr_t{0}).found);
}

TEST(Stack, GivenBackIsKnownUnderNoRecord) {
  const stack_memory memory = stack_take(16384);
  name_stack(memory, "gone");
  stack_give(memory);
  EXPECT_EQ(stack_find(reinterpret_cast<std::uintptr_t>(memory.low)).record, nullptr);
}

TEST(Stack, IsKnownUnderNoRecordBeforeItsFirstUse) {
  held_stacks held;
  constexpr std::size_t size = 1 << 19;  // used by no other test
  const stack_memory first = held.take(size);
  const char* const second = first.low + size + default_guard_size;
  const stack_place place = stack_find(reinterpret_cast<std::uintptr_t>(second));
  EXPECT_TRUE(place.found && !place.guard);
  EXPECT_EQ(place.low, second);
  EXPECT_EQ(place.record, nullptr);
  EXPECT_EQ(held.take(size).low, second);
}

// Where no guard is between, the first that is lost is what its neighbour is known under.
TEST(Stack, OverrunByTheOneAboveItIsKnownUnderNoRecord) {
  if (smallest_stack_size >= page_size)
    GTEST_SKIP() << "no stack is small here";
  held_stacks held;
  const stack_memory below = held.take(1024);
  const stack_memory above = held.take(1024);
  ASSERT_EQ(above.low, below.low + 1024);
  name_stack(below, "neighbour");
  const stack_record& record = name_stack(above, "greedy");
  std::memset(above.low - stack_head_size, 0x5a, 2 * stack_head_size);
  EXPECT_EQ(stack_find(reinterpret_cast<std::uintptr_t>(below.low)).record, nullptr);
  EXPECT_EQ(stack_find(reinterpret_cast<std::uintptr_t>(above.low)).record, &record);
  EXPECT_TRUE(stack_is_whole(below));
  EXPECT_FALSE(stack_is_whole(above));
  std::memcpy(above.low, below.low, stack_seal_size);  // or it is not taken back
}

// Nothing beside it: a million would notice.
TEST(Stack, InUseTakesNoMemoryButItsOwn) {
  if (smallest_stack_size >= page_size)
    GTEST_SKIP() << "pages that are not touched are no part of it, and sanitizers keep notes of them";
  const auto result = in_child([] {
    constexpr std::size_t count = 150'000;
    std::vector<stack_memory> all(count);
    const std::size_t before = resident_bytes();
    for (stack_memory& each : all)
      name_stack(each = stack_take(1024), "");
    EXPECT_LE(resident_bytes() - before, count * (1024 + 20));  // an emulator keeps notes of pages, too
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

TEST(Stack, TrimmingKeepsWhatIsInUse) {
  held_stacks held;
  const stack_memory memory = held.take(65536);
  std::memset(memory.low, 0x5a, memory.size);
  stack_trim_below(memory, memory.low + 40000);  // in the tenth page
  EXPECT_EQ(memory.low[0], 0);
  EXPECT_EQ(memory.low[9 * page_size - 1], 0);
  EXPECT_EQ(memory.low[9 * page_size], 0x5a);
  EXPECT_EQ(memory.high()[-1], 0x5a);
  EXPECT_FALSE(readable(memory.low - 1));
}

TEST(Stack, AnyThreadTakesAndGives) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int round = 0; round < 200; ++round) {
        held_stacks held;
        for (int i = 0; i < 20; ++i) {
          const stack_memory memory = held.take(8192);
          memory.high()[-1] = static_cast<char>(i);  // a stack that two threads had would be a data race
        }
      }
    });
  for (auto& thread : threads)
    thread.join();
}

}  // namespace
