// A parallel runtime that ends while another thread is about to make a fiber ready.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "sennit/detail/wait/wait.hpp"
#include "sennit/runtime.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sennit;

// As a thread of the offload pool does it, with a long pause between the two steps.
TEST(ParallelEndAndWakers, WaitsForWhoIsBeingWoken) {
  for (const bool again : {false, true}) {
    std::atomic<std::uintptr_t> word{0};
    std::atomic<bool> went_on{false};
    std::atomic<bool> told{false};
    std::thread waker;
    {
      runtime rt({.workers = 2});
      rt.spawn([&] {
          detail::wait_in_slot(word, 0, 0, "test", detail::never);
          went_on = true;
          if (again) {
            struct witness {
              std::atomic<bool>& seen;
              ~witness() { seen = true; }
            } const leaves{told};
            this_fiber::park();
          }
        }).detach();
      waker = std::thread([&] {
        while (word == 0)
          std::this_thread::yield();
        auto* const waits = reinterpret_cast<detail::waiter*>(word.exchange(1));
        std::this_thread::sleep_for(20ms);
        if (detail::fiber* const who = detail::end_slot_wait(*waits, 0))
          detail::parallel_ready_back(*who, detail::fiber_status::notified);
      });
      while (word != 1)
        std::this_thread::yield();
    }
    EXPECT_TRUE(went_on);
    EXPECT_EQ(told, again);
    waker.join();
  }
}

}  // namespace
