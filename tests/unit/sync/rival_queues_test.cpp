// The wait queue and two of its rivals, on the CPU that this is compiled for: four threads pass 20,000 nodes
// through one queue. Each node comes out exactly once, and those of one thread come out in their order.
//
// Where the first seed's authors had not ported their queue, they replaced it with a list under a spin lock.
// Here both run on each CPU. (`./run bench queues` measures them, and more.)
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "../../../bench/queues/low_lock_queue.hpp"
#include "../../../bench/queues/spin_lock_queue.hpp"
#include "../../../bench/queues/wait_queue.hpp"

// Not a gtest failure: the other threads would wait for a lost node.
void bench::require(bool condition, const char* message) {
  if (condition)
    return;
  std::fprintf(stderr, "%s\n", message);
  std::abort();
}

namespace {

TEST(RivalQueues, TheWaitQueuePassesEachNodeOnce) {
  bench::check_queue<bench::wait_queue>();
}

TEST(RivalQueues, TheSpinLockQueuePassesEachNodeOnce) {
  bench::check_queue<bench::spin_lock_queue>();
}

TEST(RivalQueues, TheSeedsQueuePassesEachNodeOnce) {
  bench::check_queue<bench::low_lock_queue<bench::stable_read>>();
}

}  // namespace
