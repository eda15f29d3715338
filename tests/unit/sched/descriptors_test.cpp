// Descriptors lie near enough to each other for fiber::follower, whatever else the program has mapped.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <vector>

#include "sennit/detail/sched/registry.hpp"
#include "sennit/local/runtime.hpp"
#include "support/child.hpp"

namespace sennit::local {
namespace {

#if UINTPTR_MAX > UINT32_MAX

constexpr std::uintptr_t gib = std::uintptr_t{1} << 30;
constexpr std::uintptr_t reach = 128 * gib;  // from the first

// 0: there is no room.
std::uintptr_t map_something(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? 0 : reinterpret_cast<std::uintptr_t>(memory);
}

std::uintptr_t apart(std::uintptr_t a, std::uintptr_t b) {
  return a < b ? b - a : a - b;
}

// Until the kernel puts what is mapped next too far from there.
bool map_all_beside(std::uintptr_t first) {
  if (map_something(512 * gib) == 0)
    return false;
  for (std::uintptr_t next = map_something(gib / 4096); next != 0; next = map_something(gib / 4096))
    if (apart(next, first) > reach)
      return true;
  return false;
}

// As many wake each other in a ring.
void pass_round(std::size_t fibers, int rounds) {
  runtime rt{{.stack_size = 16 * 1024}};
  rt.run([&] {
    std::vector<fiber> ring(fibers);
    std::size_t hops = 0;
    for (std::size_t i = 0; i < fibers; ++i)
      ring[i] = spawn([&, i] {
        for (int round = 0; round < rounds; ++round) {
          this_fiber::park();
          ++hops;
          if (i + 1 < fibers || round + 1 < rounds)
            ring[(i + 1) % fibers].unpark();
        }
      });
    ring[0].unpark();
    for (fiber& each : ring)
      each.join();
    EXPECT_EQ(hops, fibers * static_cast<std::size_t>(rounds));
  });
}

void expect_near_descriptors() {
  pass_round(100, 3);
  const auto first = reinterpret_cast<std::uintptr_t>(sennit_debug.blocks->fibers);
  ASSERT_EQ(sennit_debug.blocks->older, nullptr) << "so it is the first";
  if (!map_all_beside(first))
    GTEST_SKIP() << "no address space to fill";
  pass_round(3 * detail::fiber_block::least, 3);
  std::size_t blocks = 0;
  for (const detail::fiber_block* each = sennit_debug.blocks; each != nullptr; each = each->older, ++blocks)
    EXPECT_LE(apart(reinterpret_cast<std::uintptr_t>(each->fibers), first), reach);
  EXPECT_GE(blocks, 2u);
}

TEST(Descriptors, AreNearEachOtherWhereTheKernelWouldPutThemFarApart) {
#if defined(SENNIT_SANITIZED)
  GTEST_SKIP() << "here they are the allocator's";
#endif
  if (support::is_new_program())
    expect_near_descriptors();
  else
    support::in_new_program([] {});
}

#endif

}  // namespace
}  // namespace sennit::local
