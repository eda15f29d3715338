// Stacks at the limits: of a size, of the kernel's mappings, of the address space.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "stack/guard.hpp"
#include "stacks.hpp"
#include "support/child.hpp"
#include "support/process.hpp"

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

// Locks all memory that is mapped from now on. Returns false if that is refused, or (sanitizers do that)
// ignored.
bool lock_new_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_MEMLOCK, &limit);
  if (::mlockall(MCL_FUTURE) != 0)
    return false;
  void* const page = ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char present = 0;
  return page != MAP_FAILED && ::mincore(page, page_size, &present) == 0 && (present & 1) != 0;
}

void expect_guarded(const stack_memory& memory, std::size_t guard) {
  EXPECT_TRUE(readable(memory.low));
  for (std::size_t below = guard; below != 0; below -= page_size)
    ASSERT_FALSE(readable(memory.low - below)) << below << " bytes below the stack";
}

TEST(Stack, GuardsHaveTheSizeThatWasAskedFor) {
  for (const guard_method method : {guard_method::unknown, guard_method::split}) {
    const auto result = in_child([method] {
      guards = method;
      held_stacks held;
      for (const std::size_t size : {std::size_t{4096}, std::size_t{8192}, default_stack_size})
        for (const std::size_t guard : {0, 1, 4096, 5000, 65536, 1 << 20}) {
          const stack_shape shape = stack_shape_of(size | small_stack_mark, guard);
          const std::size_t given =
              guard == 0 ? default_guard_size : (guard + page_size - 1) / page_size * page_size;
          EXPECT_EQ(shape.guard(), given);
          for (int i = 0; i < 2; ++i) {
            const stack_memory& memory = held.take(shape);
            EXPECT_EQ(memory.size, std::max(size, smallest_stack_size));
            EXPECT_EQ(memory.shape, shape);
            expect_guarded(memory, given);
            const auto low = reinterpret_cast<std::uintptr_t>(memory.low);
            EXPECT_TRUE(stack_find(low - given).guard);
            EXPECT_EQ(stack_find(low - given).low, memory.low);
          }
        }
      const stack_memory last = held.all().back();
      held.give_last();
      EXPECT_NE(held.take(last.size).low, last.low);  // the guard differs
      EXPECT_EQ(held.take(last.shape).low, last.low);
    });
    EXPECT_TRUE(result.exited(0)) << result;
  }
}

// As on most kernels for PowerPC 64: a guard that is smaller than a page, or does not begin with one, is
// none.
TEST(Stack, ConsistsOfWholePagesOfTheKernel) {
  const auto result = in_child([] {
    constexpr std::size_t page = 65536;
    assumed_kernel_page = page;
    held_stacks held;
    for (const std::size_t size : {std::size_t{4096}, std::size_t{16384}, default_stack_size, 4 * page})
      for (const std::size_t guard : {std::size_t{4096}, page, page + 4096}) {
        const stack_shape shape = stack_shape_of(size | small_stack_mark, guard);
        char* const first = held.take(shape).low;
        for (int i = 0; i < 3; ++i) {
          const stack_memory& memory = held.take(shape);
          EXPECT_EQ(memory.size, std::max(size, page));
          EXPECT_EQ(static_cast<std::size_t>(memory.low - first) % page, 0u);
          expect_guarded(memory, guard <= page ? page : 2 * page);
        }
      }
    const stack_memory memory = held.take(4 * page);
    std::memset(memory.low, 0x5a, memory.size);
    EXPECT_TRUE(stack_trim_below(memory, memory.low + 2 * page - 1));
    EXPECT_EQ(memory.low[page - 1], 0);
    EXPECT_EQ(memory.low[page], 0x5a);
    EXPECT_EQ(held.take(1024).size, smallest_stack_size <= 1024 ? std::size_t{1024} : page);
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

// Guards are made for several stacks at once, where the kernel can.
TEST(Stack, ManyHaveTheirGuards) {
  for (const guard_method method : {guard_method::unknown, guard_method::split}) {
    const auto result = in_child([method] {
      guards = method;
      held_stacks held;
      for (int i = 0; i < 1000; ++i) {
        const stack_memory& memory = held.take(16384);
        EXPECT_TRUE(readable(memory.low));
        ASSERT_FALSE(readable(memory.low - 1)) << i;
        ASSERT_FALSE(readable(memory.low - default_guard_size)) << i;
      }
    });
    EXPECT_TRUE(result.exited(0)) << result;
  }
}

TEST(Stack, AGuardBeyondTheLargestIsInvalid) {
  try {
    static_cast<void>(stack_shape_of(0, maximum_guard_size + 1));
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::invalid_argument);
    EXPECT_NE(std::string(error.what()).find(std::to_string(maximum_guard_size)), std::string::npos);
  }
}

// MADV_GUARD_INSTALL fails in memory that is locked: those guards split their mapping, and others do not.
TEST(Stack, LockedMemoryHasGuardsAndCostsOtherMappingsNothing) {
  const auto result = in_child([] {
    held_stacks held;
    held.take(8192);
    const bool marked = guards == guard_method::marked;
    if (!lock_new_memory())
      _exit(77);
    constexpr std::size_t count = 40;  // of which the first 16 are populated at once, guards and all
    for (std::size_t i = 0; i < count; ++i) {
      held.take(16384);
      held.take(stack_shape_of(16384, page_size));
    }
    for (std::size_t i = 1; i < held.all().size(); ++i)
      expect_guarded(held.all()[i], held.all()[i].shape.guard());
    std::vector<unsigned char> present(default_guard_size / page_size, 1);
    const char* const guard = held.all()[1].low - default_guard_size;
    if (::mincore(const_cast<char*>(guard), default_guard_size, present.data()) == 0) {
      EXPECT_EQ(std::count_if(present.begin(), present.end(), [](unsigned char c) { return (c & 1) != 0; }),
                0)
          << "pages of a guard take memory";
    } else {
      EXPECT_EQ(errno, ENOMEM) << "qemu-user answers this for memory without access; Linux gives no error";
    }

    const stack_memory measured = held.all()[1];
    std::memset(measured.low, 1, measured.size);
    stack_clear_below(measured, measured.high());
    EXPECT_EQ(std::count(measured.low, measured.high(), 0), measured.high() - measured.low);

    ASSERT_EQ(::munlockall(), 0);
    const std::size_t before = support::count_mappings();
    for (int i = 0; i < 100; ++i)
      held.take(32768);
    if (marked) {
      EXPECT_LE(support::count_mappings() - before, 16u);
    }
    expect_guarded(held.all().back(), default_guard_size);
  });
  if (result.exited(77))
    GTEST_SKIP() << "memory may not be locked here";
  EXPECT_TRUE(result.exited(0)) << result;
}

// Where locked memory has used up the mappings, no stack is handed out without a guard.
TEST(Stack, BeyondTheSplitsThereAreNoStacksRatherThanUnguardedOnes) {
  for (const bool locked : {false, true}) {
    const auto result = in_child([locked] {
      most_split_guards = 50;
      if (!locked)
        guards = guard_method::split;
      else if (!lock_new_memory())
        _exit(77);
      held_stacks held;
      const auto [count, error] = held.take_all(8192);
      EXPECT_LE(count, 50u);
      EXPECT_EQ(error.code(), std::errc::not_enough_memory);
      EXPECT_NE(std::string(error.what()).find(locked && count < 50 ? "ulimit -l" : "raise vm.max_map_count"),
                std::string::npos)
          << error.what();
      for (const stack_memory& each : held.all())
        expect_guarded(each, default_guard_size);
    });
    if (!result.exited(77)) {
      EXPECT_TRUE(result.exited(0)) << result;
    }
  }
}

// The sanitizers' own memory does not fit below the limit.
#if !defined(SUPPORT_ASAN) && !defined(SUPPORT_TSAN)
// RLIMIT_DATA counts what vm.overcommit_memory=2 counts, private writable memory, and mmap fails as it does
// there.
TEST(Stack, AnExhaustedCommitLimitIsReported) {
  const auto result = in_child([] {
    std::size_t pages = 0;
    std::string skipped;
    std::ifstream statm("/proc/self/statm");
    for (int i = 0; i < 5; ++i)
      statm >> skipped;
    statm >> pages;
    constexpr std::size_t allowance = 128 << 20;
    const rlimit limit{pages * page_size + allowance, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
    if (::mmap(nullptr, 2 * allowance, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
        MAP_FAILED)
      _exit(77);
    held_stacks held;
    const auto [count, error] = held.take_all(1 << 20);
    EXPECT_EQ(error.code(), std::errc::not_enough_memory);
    for (const char* const remedy : {"smaller guards", "vm.overcommit_ratio"})
      EXPECT_NE(std::string(error.what()).find(remedy), std::string::npos) << error.what();
    EXPECT_GE(count, allowance / (1 << 20) / 2);
    expect_guarded(held.all().back(), default_guard_size);
  });
  if (result.exited(77))
    GTEST_SKIP() << "RLIMIT_DATA has no effect here: an emulator";
  EXPECT_TRUE(result.exited(0)) << result;
}
#endif

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
