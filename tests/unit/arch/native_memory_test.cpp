// Fences by membarrier, and without it. In children: what a process has decided it never changes.
#include "sennit/detail/arch/native_memory.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "support/child.hpp"
#include "support/ring_stress.hpp"
#include "support/seccomp.hpp"

namespace {

using sennit::detail::native_memory;
using support::in_child;

bool forbid_membarrier() {
  return support::refuse_call(SYS_membarrier, EPERM);
}

bool can_forbid() {
  return in_child([] { EXPECT_TRUE(forbid_membarrier()); }).exited(0);
}
bool can_prepare() {
  return in_child([] { EXPECT_TRUE(native_memory::prepare()); }).exited(0);
}

void steal_in_every_way() {
  support::steal_while_popping();
  support::steal_while_popping_the_newest();
  support::steal_from_the_slot();
  support::steal_while_leaving();
}

TEST(native_memory, has_full_fences_before_it_is_prepared) {
  const auto child = in_child(steal_in_every_way);
  EXPECT_TRUE(child.exited(0)) << child;
}

TEST(native_memory, has_full_fences_where_membarrier_is_refused) {
  if (!can_forbid())
    GTEST_SKIP() << "no seccomp here";
  const auto child = in_child([] {
    ASSERT_TRUE(forbid_membarrier());
    errno = 0;
    EXPECT_FALSE(native_memory::prepare());
    EXPECT_FALSE(native_memory::prepare());
    EXPECT_EQ(errno, 0);
    steal_in_every_way();
  });
  EXPECT_TRUE(child.exited(0)) << child;
}

TEST(native_memory, is_prepared_by_many_threads_at_once) {
  const auto child = in_child([] {
    std::atomic<int> could{0};
    {
      std::jthread threads[4];
      for (std::jthread& t : threads)
        t = std::jthread([&] { could += native_memory::prepare() ? 1 : 0; });
    }
    EXPECT_EQ(could, native_memory::prepare() ? 4 : 0);
  });
  EXPECT_TRUE(child.exited(0)) << child;
}

TEST(native_memory, goes_on_with_membarrier_in_a_child) {
  if (!can_prepare())
    GTEST_SKIP() << "no membarrier here";
  const auto child = in_child([] {
    ASSERT_TRUE(native_memory::prepare());
    const auto grandchild = in_child([] {
      native_memory::heavy_fence();
      steal_in_every_way();
    });
    EXPECT_TRUE(grandchild.exited(0)) << grandchild;
  });
  EXPECT_TRUE(child.exited(0)) << child;
}

TEST(native_memory, a_refusal_that_comes_too_late_ends_the_process) {
  if (!can_prepare() || !can_forbid())
    GTEST_SKIP() << "no membarrier here, or no seccomp";
  const auto child = in_child([] {
    ASSERT_TRUE(native_memory::prepare());
    native_memory::heavy_fence();
    ASSERT_TRUE(forbid_membarrier());
    native_memory::heavy_fence();
  });
  EXPECT_TRUE(child.killed_by(SIGABRT)) << child;
  EXPECT_TRUE(child.says("membarrier(2) is refused")) << child;
}

}  // namespace
