// The run queue against its model: random sequences of all that a worker does with a queue, with fibers that
// have no stack.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "run_queue_model.hpp"
#include "support/policies.hpp"

namespace run_queue_test {
namespace {

class RunQueue : public testing::TestWithParam<run_policy> {};

// Random numbers that are the same everywhere.
class dice {
public:
  explicit dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

private:
  std::mt19937 engine_;
};

std::size_t children_first;  // joins that let a child run past others

void random_step(pair_of_queues& both, dice& random) {
  if (!both.running()) {
    if (both.anybody_asleep() && random.one_in(2)) {
      const int f = both.wake_up(random.below(100));
      random.one_in(2) ? both.add(f) : both.add_woken(f);
    } else {
      both.next();
    }
    return;
  }
  switch (random.below(11)) {
    case 0:
    case 1:
      if (both.anybody_asleep())
        both.add(both.wake_up(random.below(100)));
      break;
    case 2:
    case 3:
      if (both.anybody_asleep())
        both.add_woken(both.wake_up(random.below(100)));
      break;
    case 4:
    case 5:
      both.yield();
      break;
    case 6:
      random.one_in(2) ? both.park() : both.decided_park();
      break;
    case 7:
      if (both.anybody_asleep())
        both.replace(both.wake_up(random.below(100)));
      break;
    case 8:
      if (both.anybody_asleep())
        both.hand_over(both.wake_up(random.below(100)));
      break;
    case 9:
      if (!both.ready().empty())
        children_first += both.park_joining(both.ready()[random.below(both.ready().size())]);
      break;
    default:
      if (random.one_in(4))
        both.suspend();
  }
}

TEST_P(RunQueue, DoesAsItsModelInRandomSequences) {
  children_first = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    dice random(seed);
    pair_of_queues both(GetParam(), 1 + static_cast<int>(random.below(20)));
    for (int step = 0; step < 2000; ++step) {
      random_step(both, random);
      both.compare();
      if (HasFatalFailure())
        FAIL() << "seed " << seed << ", step " << step;
    }
  }
  if (GetParam() == run_policy::fifo) {
    EXPECT_GT(children_first, 100u);
  }
}

// Sequences as programs have them: mostly a few fibers that wake each other, and now and then a burst.
TEST_P(RunQueue, DoesAsItsModelWhenPairsWakeEachOther) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    dice random(seed);
    pair_of_queues both(GetParam(), 12);
    for (int i = 0; i < 10; ++i)
      both.add(both.wake_up(0));
    both.next();
    for (int step = 0; step < 2000; ++step) {
      if (both.running() && !random.one_in(20)) {
        const bool wakes = both.anybody_asleep();
        if (wakes && random.one_in(2)) {
          both.hand_over(both.wake_up(random.below(2)));
        } else {
          if (wakes)
            both.add_woken(both.wake_up(random.below(2)));
          both.compare();
          both.park();
        }
      } else {
        random_step(both, random);
      }
      both.compare();
      if (HasFatalFailure())
        FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

// Each fiber that is ready runs before so many others have: whatever they do.
void expect_nobody_starves(run_policy policy, unsigned seed, std::size_t limit) {
  constexpr int count = 10;
  dice random(seed);
  pair_of_queues both(policy, count);
  std::vector<std::size_t> waited(count);  // dispatches of others since it became ready
  std::optional<int> last;
  // How this program behaves: how often its fibers wake, yield, or spawn instead of blocking.
  const std::size_t wakes = 1 + random.below(4);
  const std::size_t yields = 1 + random.below(6);
  const std::size_t posts = 1 + random.below(6);
  for (int step = 0; step < 5000; ++step) {
    if (!both.running()) {
      if (both.anybody_asleep() && (!both.anybody_ready() || random.one_in(2)))
        both.add(both.wake_up(random.below(100)));
      both.next();
    } else if (both.anybody_asleep() && !random.one_in(wakes)) {
      both.add_woken(both.wake_up(random.below(2)));
    } else if (both.anybody_asleep() && random.one_in(posts)) {
      both.add(both.wake_up(random.below(2)));
    } else if (both.anybody_asleep() && random.one_in(posts)) {
      both.hand_over(both.wake_up(random.below(2)));
    } else if (random.one_in(yields)) {
      both.yield();
    } else if (random.one_in(50)) {
      both.suspend();
    } else {
      both.park();
    }
    both.compare();
    if (testing::Test::HasFatalFailure())
      return;
    if (!both.running() || both.running_one() == last)
      continue;
    last = both.running_one();
    waited[static_cast<std::size_t>(*last)] = 0;
    std::vector<int> waiting(both.ready().begin(), both.ready().end());
    if (both.slot())
      waiting.push_back(*both.slot());
    for (int f : waiting)
      ASSERT_LE(++waited[static_cast<std::size_t>(f)], limit) << "fiber " << f << ", seed " << seed;
  }
}

TEST(RunQueueFifo, NobodyStarves) {
  // Before one in the ring come at most all others, each after the slot was used as often as it may be.
  for (unsigned seed = 0; seed < 100; ++seed)
    expect_nobody_starves(run_policy::fifo, seed, 11 * (next_slot_budget + 1));
}

TEST(RunQueueHybrid, NobodyStarves) {
  // The rest of one cycle, and the next one.
  for (unsigned seed = 0; seed < 100; ++seed)
    expect_nobody_starves(run_policy::hybrid, seed, 2 * (10 + hybrid_adds));
}

INSTANTIATE_TEST_SUITE_P(Policies, RunQueue, support::every_policy(), support::policy_name);

}  // namespace
}  // namespace run_queue_test
