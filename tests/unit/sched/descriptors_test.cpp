// Where the program has mapped much beside the first descriptors, others lie farther from them than
// fiber::follower can tell.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <vector>

#include "sennit/detail/sched/registry.hpp"
#include "sennit/local/runtime.hpp"
#include "support/child.hpp"

namespace sennit::inline v0_1::local {
namespace {

#if UINTPTR_MAX > UINT32_MAX

constexpr std::uintptr_t gib = std::uintptr_t{1} << 30;

// 0: there is no room.
std::uintptr_t map_something(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? 0 : reinterpret_cast<std::uintptr_t>(memory);
}

bool is_far(std::uintptr_t a, std::uintptr_t b) {
  return (a < b ? b - a : a - b) > 256 * gib;
}

// Until the kernel puts what is mapped next far from there.
bool map_all_beside(std::uintptr_t first) {
  if (map_something(512 * gib) == 0)
    return false;
  for (std::uintptr_t next = map_something(gib / 4096); next != 0; next = map_something(gib / 4096))
    if (is_far(next, first))
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

void use_far_descriptors() {
  pass_round(100, 3);
  const auto first = reinterpret_cast<std::uintptr_t>(sennit_debug.blocks->fibers);
  ASSERT_EQ(sennit_debug.blocks->older, nullptr) << "so it is the first";
  if (!map_all_beside(first))
    GTEST_SKIP() << "no address space to fill";
  pass_round(3 * detail::fiber_block::least, 3);
  EXPECT_TRUE(is_far(reinterpret_cast<std::uintptr_t>(sennit_debug.blocks->fibers), first));
}

TEST(Descriptors, MayLieFarFromEachOther) {
#if defined(SENNIT_SANITIZED)
  GTEST_SKIP() << "here they are the allocator's";
#elif defined(SUPPORT_EMULATED)
  GTEST_SKIP() << "qemu-user begins no program anew, and keeps notes of each page of 512 GiB";
#endif
  if (support::is_new_program())
    use_far_descriptors();
  else
    support::in_new_program([] {});
}

#endif

}  // namespace
}  // namespace sennit::inline v0_1::local
