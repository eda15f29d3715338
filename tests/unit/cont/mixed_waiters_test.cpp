// One object that all kinds of waiters wait for at once: fibers with a stack and without one, an OS thread,
// and a case of a select.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/select.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;

class MixedWaiters : public testing::TestWithParam<unsigned> {
protected:
  // In the first round all wait before anything is brought; then they race.
  static void let_them_wait(int round) {
    if (round == 0)
      this_fiber::sleep_for(20ms);
  }

  static constexpr int rounds = 100;
  runtime rt{{.workers = GetParam()}};
};

TEST_P(MixedWaiters, EachGetsOneOfAChannel) {
  rt.run([&] {
    for (int round = 0; round < rounds; ++round) {
      channel<int> values(round % 3);
      channel<int> never;
      std::vector<std::atomic<int>> got(4);
      fiber with_stack = spawn([&] { got[0] = values.receive().value_or(-1); });
      fiber without = spawn([&] {
        return become(values.receiving(), [&](std::optional<int> value) { got[1] = value.value_or(-1); });
      });
      std::jthread thread([&] { got[2] = values.receive().value_or(-1); });
      fiber selects = spawn([&] {
        select(on_receive(never, [](std::optional<int>) {}),
               on_receive(values, [&](std::optional<int> value) { got[3] = value.value_or(-1); }));
      });
      let_them_wait(round);
      for (int value = 1; value <= 4; ++value)
        values.send(value);
      with_stack.join();
      without.join();
      selects.join();
      thread.join();  // it has what it needs
      std::vector<int> all(got.begin(), got.end());
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all, (std::vector{1, 2, 3, 4})) << "round " << round;
    }
  });
}

TEST_P(MixedWaiters, CloseEndsTheWaitOfAll) {
  rt.run([&] {
    for (int round = 0; round < rounds; ++round) {
      channel<int> values;
      std::atomic<int> ended{0};
      const auto note = [&](std::optional<int> value) { ended += value ? 100 : 1; };
      fiber with_stack = spawn([&] { note(values.receive()); });
      fiber without = spawn([&] { return become(values.receiving(), note); });
      std::jthread thread([&] { note(values.receive()); });
      fiber selects = spawn([&] { select(on_receive(values, note)); });
      let_them_wait(round);
      values.close();
      with_stack.join();
      without.join();
      selects.join();
      thread.join();  // it has what it needs
      ASSERT_EQ(ended, 4) << "round " << round;
    }
  });
}

TEST_P(MixedWaiters, OneAtATimeHoldsAMutex) {
  rt.run([&] {
    for (int round = 0; round < rounds; ++round) {
      mutex guard;
      int inside = 0;  // not atomic
      int entered = 0;
      const auto enter = [&] {
        EXPECT_EQ(++inside, 1);
        ++entered;
        --inside;
        guard.unlock();
      };
      guard.lock();
      fiber with_stack = spawn([&] {
        guard.lock();
        enter();
      });
      fiber without = spawn([&] { return become(guard.locking(), enter); });
      std::jthread thread([&] {
        guard.lock();
        enter();
      });
      let_them_wait(round);
      enter();
      with_stack.join();
      without.join();
      thread.join();  // it has what it needs
      ASSERT_EQ(entered, 4) << "round " << round;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, MixedWaiters, testing::Values(1u, 2u, 4u),
                         testing::PrintToStringParamName());

}  // namespace
