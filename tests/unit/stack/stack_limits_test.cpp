// Stacks at the limits: of a size, of the kernel's mappings, of the address space.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "stacks.hpp"
#include "support/child.hpp"

namespace {

using namespace stack_test;
using support::in_child;

TEST(Stack, ASizeBeyondTheLargestIsInvalid) {
  for (std::size_t size : {maximum_stack_size + 1, ~std::size_t{0}}) {
    try {
      stack_take(size);
      FAIL() << size;
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(std::to_string(maximum_stack_size)), std::string::npos)
          << error.what();
    }
  }
}

TEST(Stack, TheLargestSizeIsGiven) {
  held_stacks held;
  const stack_memory memory = held.take(maximum_stack_size);
  EXPECT_EQ(memory.size, maximum_stack_size);
  memory.low[0] = 1;
  memory.high()[-1] = 1;
}

// Where the kernel splits the mapping for each guard, the number of stacks has a limit. It is reached in an
// orderly way.
TEST(Stack, TheLimitOfMappingsIsReportedAndLeavesTheProcessUsable) {
  std::size_t most = 65530;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  if (most > 300'000)
    GTEST_SKIP() << "vm.max_map_count is " << most << ": too many to reach";
  const auto result = in_child([most] {
    guards = guard_method::split;
    held_stacks held;
    const auto [count, error] = held.take_all(8192);
    EXPECT_EQ(error.code(), std::errc::not_enough_memory);
    EXPECT_NE(std::string(error.what()).find("raise vm.max_map_count"), std::string::npos) << error.what();
    EXPECT_GT(count, most / 4);
    EXPECT_FALSE(readable(held.all().back().low - 1));

    bool ran = false;
    std::thread([&ran] { ran = true; }).join();
    EXPECT_TRUE(ran);
    std::vector<char> large(64 << 20, 'x');
    EXPECT_EQ(large.back(), 'x');

    held.give_last();
    EXPECT_NO_THROW(held.take(8192));
    EXPECT_THROW(held.take(1 << 22), std::system_error);
    held.give_all();
    const auto again = held.take_all(8192);
    EXPECT_EQ(again.first, count);  // nothing was lost
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

TEST(Stack, SplitMappingsHaveGuardsThatFault) {
  const auto result = in_child([] {
    guards = guard_method::split;
    volatile char* low = stack_take(default_stack_size).low;
    low[0] = 1;
    low[-1] = 1;
  });
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Stack, ExhaustedAddressSpaceIsReportedAndLosesNothing) {
  const auto result = in_child([] {
    constexpr std::size_t allowance = 256 << 20;
    constexpr std::size_t large = 8 << 20;
    const rlimit limit{mapped_bytes() + allowance, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    if (::mmap(nullptr, 2 * allowance, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
      _exit(77);
    held_stacks held;
    const auto [count, error] = held.take_all(large);
    EXPECT_EQ(error.code(), std::errc::not_enough_memory);
    EXPECT_NE(std::string(error.what()).find("no address space"), std::string::npos) << error.what();
    EXPECT_GE(count, allowance / large / 2);

    // What is left serves smaller stacks.
    held_stacks smaller;
    for (int i = 0; i < 20; ++i)
      smaller.take(default_stack_size).low[0] = 1;

    const std::size_t mapped = mapped_bytes();
    EXPECT_THROW(held.take(large), std::system_error);
    EXPECT_LE(mapped_bytes(), mapped + (1 << 20));
    held.give_all();
    EXPECT_EQ(held.take_all(large).first, count);
  });
  if (result.exited(77))
    GTEST_SKIP() << "RLIMIT_AS has no effect here: an emulator";
  EXPECT_TRUE(result.exited(0)) << result;
}

}  // namespace
