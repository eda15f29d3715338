// C's waits without a stack, in fibers of a C++ scope: a stop does not touch what a woken fiber has waited
// for, which may be gone. (AddressSanitizer sees it.)
#include <gtest/gtest.h>

#include <cerrno>

#include "sennit/fiber.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"
#include "sennit/sennit.h"

namespace {

int served = 0;

// `wait()` blocks a fiber of the scope, and `wake()` ends its wait and destroys the object.
template <class Wait, class Wake>
void wake_and_stop(Wait wait, Wake wake) {
  served = 0;
  sennit::runtime({.workers = 1}).run([&] {
    sennit::scope scope;
    scope.spawn(wait);
    sennit::this_fiber::yield();
    wake();
    scope.request_stop();
    scope.join();
  });
  EXPECT_EQ(served, 1);
}

TEST(CScopeServed, AStopDoesNotTouchTheObject) {
  static sennit_channel* channel;
  ASSERT_EQ(sennit_channel_create_shared(&channel, sizeof(int), 0), 0);
  wake_and_stop(
      [] {
        sennit_channel_become_receiving(
            channel, [](void*, int result, void*) { served += result == 0; }, nullptr, 0, SENNIT_NEVER);
      },
      [] {
        const int one = 1;
        EXPECT_EQ(sennit_channel_trysend(channel, &one), 0);
        EXPECT_EQ(sennit_channel_destroy(channel), 0);
      });

  static sennit_semaphore* permits;
  ASSERT_EQ(sennit_semaphore_create_shared(&permits, 0), 0);
  wake_and_stop(
      [] {
        sennit_semaphore_become_acquiring(
            permits, [](void*, int result) { served += result == 0; }, nullptr, 0, SENNIT_NEVER);
      },
      [] {
        EXPECT_EQ(sennit_semaphore_release(permits, 1), 0);
        EXPECT_EQ(sennit_semaphore_destroy(permits), 0);
      });

  static sennit_port* calls;
  ASSERT_EQ(sennit_port_create_shared(&calls, sizeof(int), sizeof(int)), 0);
  wake_and_stop(
      [] {
        const int one = 1;
        sennit_port_become_calling(
            calls, &one, [](void*, int result, void*) { served += result == 0; }, nullptr, 0, SENNIT_NEVER);
      },
      [] {
        sennit_call* call = nullptr;
        EXPECT_EQ(sennit_port_receive(calls, &call, SENNIT_NEVER), 0);
        const int two = 2;
        EXPECT_EQ(sennit_call_reply(call, &two), 0);
        EXPECT_EQ(sennit_port_destroy(calls), 0);
      });
}

}  // namespace
