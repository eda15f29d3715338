// Fences by membarrier, and without it. In children: what a process has decided it never changes.
#include "sennit/detail/arch/native_memory.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <thread>

#include "support/child.hpp"
#include "support/ring_stress.hpp"

namespace {

using sennit::detail::native_memory;
using support::in_child;

// Makes membarrier fail, as strict seccomp filters do.
bool forbid_membarrier() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | unsigned{EPERM}),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog all{static_cast<unsigned short>(std::size(program)), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
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
