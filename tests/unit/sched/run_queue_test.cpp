// The run queue against a model that says the same as plainly as it can be said: random sequences of all that
// a worker does with a queue, with fibers that have no stack, and after each step the same order in both.
#include "sennit/detail/sched/run_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "support/policies.hpp"

namespace {

using namespace sennit::detail;
using sennit::run_policy;

// What a policy is. Fibers are numbers; ready[0] is the head.
struct model {
  run_policy policy;
  std::optional<int> running;
  std::deque<int> ready;

  // fifo: woken last, and not in `ready`; how many more times in a row that may go first.
  std::optional<int> slot;
  unsigned budget = slot_budget;

  // hybrid: how many may still go first, by the slot; none: who is to run before the next may, and who has.
  // The seed has it so (Dolan 2013, section 5.2): "the first few tasks added to the run-queue will be added
  // to its head in a LIFO fashion. After this, future add operations will add to the tail, until the
  // run-queue has cycled completely (every fiber initially on the queue has run). Then, the LIFO count will
  // be reset." Ours are not so few: twice as many as had to wait, the last time; but only one at once, and
  // not those that are new; and who is queued is told when the count is spent.
  std::size_t first_left = hybrid_adds, turns = 0;
  std::set<int> initially;

  explicit model(run_policy p) : policy(p) {}

  std::size_t size() const { return ready.size() + slot.has_value() + running.has_value(); }
  bool alone() const { return running && size() == 1; }

  void add(int f) {
    if (policy == run_policy::lifo)
      ready.push_front(f);
    else
      ready.push_back(f);
  }

  void add_woken(int f) {
    if (policy == run_policy::lifo)
      return add(f);
    if (slot)
      ready.push_back(*slot);
    else if (policy == run_policy::hybrid && !may_go_first())
      return ready.push_back(f);
    slot = f;
  }

  bool may_go_first() {
    if (first_left == 0)
      return false;
    --first_left;
    return true;
  }

  // Who is put behind all the others, without being an addition to the queue.
  void put_last(int f) { ready.push_back(f); }

  // Nobody runs: somebody is to.
  void dispatch() {
    if (slot && (policy == run_policy::hybrid || budget > 0 || ready.empty())) {
      budget -= budget > 0;
      running = *std::exchange(slot, std::nullopt);
      return;
    }
    budget = slot_budget;
    if (slot)
      ready.push_back(*std::exchange(slot, std::nullopt));
    if (ready.empty())
      return;
    if (initially.empty())
      initially = {ready.begin(), ready.end()};
    running = ready.front();
    ready.pop_front();
    if (first_left == 0)
      had_turn(*running);
    else
      initially.clear();
  }

  void had_turn(int f) {
    turns += initially.erase(f);
    if (initially.empty())
      first_left = std::max<std::size_t>(hybrid_adds, hybrid_adds_each * std::exchange(turns, 0));
  }

  void yield() {
    if (alone())
      return;
    const int self = *std::exchange(running, std::nullopt);
    if (policy == run_policy::fifo) {
      const bool slot_first = slot && budget > 0;
      if (slot && !slot_first)
        ready.push_back(*std::exchange(slot, std::nullopt));  // before us: it was ready first
      put_last(self);
      dispatch();
    } else if (policy == run_policy::hybrid) {
      const bool first = first_left != 0;
      dispatch();
      if (first && may_go_first())
        slot = self;
      else
        put_last(self);
    } else {  // others first, then we are added
      dispatch();
      add(self);
    }
  }

  // One that steps on in the ring says nothing to the budget.
  void plain_yield() {
    if (alone())
      return;
    put_last(*running);
    running = ready.front();
    ready.pop_front();
  }

  void leave() { running.reset(); }
  void enter(int f) { running = f; }
};

// A queue and its model, driven together.
class pair_of_queues {
public:
  pair_of_queues(run_policy policy, int count)
      : queue_(policy), model_(policy), fibers_(static_cast<std::size_t>(count)) {
    for (int f = 0; f < count; ++f)
      asleep_.push_back(f);
  }

  bool running() const { return model_.running.has_value(); }
  bool anybody_asleep() const { return !asleep_.empty(); }
  bool anybody_ready() const { return model_.size() > (running() ? 1u : 0u); }
  std::size_t size() const { return model_.size(); }
  int running_one() const { return *model_.running; }
  const std::deque<int>& ready() const { return model_.ready; }
  std::optional<int> slot() const { return model_.slot; }

  int wake_up(std::size_t which) {
    const auto it = asleep_.begin() + static_cast<std::ptrdiff_t>(which % asleep_.size());
    const int f = *it;
    asleep_.erase(it);
    return f;
  }
  void wake_up_this(int f) { asleep_.erase(std::find(asleep_.begin(), asleep_.end(), f)); }

  void add(int f) {
    queue_.add(at(f));
    model_.add(f);
  }
  void add_woken(int f) {
    queue_.add_woken(at(f));
    model_.add_woken(f);
  }
  // As sennit::detail::yield: the fast way where it may.
  void yield() {
    const bool step = queue_.plain();
    EXPECT_EQ(queue_.rotate(), queue_.current);
    step ? model_.plain_yield() : model_.yield();
  }
  // As sennit::detail::park.
  void park() {
    asleep_.push_back(running_one());
    if (fiber* next = queue_.step_off(*queue_.current)) {
      EXPECT_EQ(next, queue_.current);
    } else {
      queue_.remove_running();
      EXPECT_EQ(queue_.next(), queue_.current);
    }
    model_.leave();
    model_.dispatch();
  }
  // As sennit_decide_park.
  void decided_park() {
    asleep_.push_back(running_one());
    queue_.remove_running();
    model_.leave();
    compare();
    EXPECT_EQ(queue_.next(), queue_.current);
    model_.dispatch();
  }
  // A fiber ends, and whoever joins it takes its place.
  void replace(int f) {
    if (!queue_.plain())
      return put_back(f);
    asleep_.push_back(running_one());
    queue_.replace(*queue_.current, *at(f));
    model_.leave();
    model_.enter(f);
  }
  // The host goes on.
  void suspend() {
    queue_.put_back();
    model_.put_last(running_one());
    model_.leave();
  }
  // The host leaves.
  void next() {
    fiber* f = queue_.next();
    EXPECT_EQ(f, queue_.current);
    model_.dispatch();
  }
  void put_back(int f) { asleep_.push_back(f); }

  // The same in both?
  void compare() {
    ASSERT_EQ(queue_.size(), model_.size());
    ASSERT_EQ(queue_.empty(), model_.size() == 0);
    ASSERT_EQ(queue_.running(), model_.running.has_value());
    ASSERT_EQ(queue_.plain(), model_.policy == run_policy::fifo && !model_.slot);
    std::vector<int> expected(model_.ready.begin(), model_.ready.end());
    const fiber* const beside = queue_.beside();
    if (model_.policy != run_policy::lifo) {
      ASSERT_EQ(beside, model_.slot ? at(*model_.slot) : nullptr);
    } else if (beside != nullptr) {  // the head
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(beside, at(expected.front()));
      expected.erase(expected.begin());
    }
    if (model_.running)
      expected.insert(expected.begin(), *model_.running);
    std::vector<int> ring;
    if (!expected.empty()) {
      const fiber* f = model_.running ? queue_.current : queue_.head();
      for (std::size_t i = 0; i < expected.size(); ++i, f = f->next)
        ring.push_back(static_cast<int>(f - fibers_.data()));
      ASSERT_EQ(f, model_.running ? queue_.current : queue_.head()) << "the ring has others too";
    } else {
      ASSERT_EQ(queue_.head(), nullptr);
    }
    ASSERT_EQ(ring, expected);
  }

private:
  fiber* at(int f) { return &fibers_[static_cast<std::size_t>(f)]; }

  run_queue queue_;
  model model_;
  std::vector<fiber> fibers_;
  std::deque<int> asleep_;  // not in the queue
};

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
  switch (random.below(9)) {
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
    default:
      if (random.one_in(4))
        both.suspend();
  }
}

TEST_P(RunQueue, DoesAsItsModelInRandomSequences) {
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
        if (both.anybody_asleep())
          both.add_woken(both.wake_up(random.below(2)));
        both.compare();
        both.park();
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
    expect_nobody_starves(run_policy::fifo, seed, 11 * (slot_budget + 1));
}

TEST(RunQueueHybrid, NobodyStarves) {
  // The rest of one cycle, and the next one.
  for (unsigned seed = 0; seed < 100; ++seed)
    expect_nobody_starves(run_policy::hybrid, seed, 2 * (10 + hybrid_adds));
}

// Examples, to read.

TEST(RunQueueFifo, RunsEachInItsTurn) {
  pair_of_queues both(run_policy::fifo, 4);
  for (int f = 0; f < 4; ++f) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  for (int f = 0; f < 8; ++f) {
    EXPECT_EQ(both.running_one(), f % 4);
    both.yield();
  }
}

TEST(RunQueueFifo, TheOneWokenLastGoesFirst) {
  pair_of_queues both(run_policy::fifo, 5);
  for (int f = 0; f < 3; ++f) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  EXPECT_EQ(both.running_one(), 0);
  for (int f : {3, 4}) {
    both.wake_up_this(f);
    both.add_woken(f);
  }
  for (int expected : {4, 1, 2, 3}) {  // and 3, which gave the slot up, in its turn
    both.park();
    EXPECT_EQ(both.running_one(), expected);
  }
}

TEST(RunQueueFifo, TwoThatWakeEachOtherLetOthersRunWhenTheBudgetIsSpent) {
  pair_of_queues both(run_policy::fifo, 3);
  both.wake_up_this(0);
  both.wake_up_this(2);
  both.add(0);
  both.add(2);
  both.next();
  unsigned wakes = 0;
  while (both.running_one() != 2) {
    const int other = 1 - both.running_one();
    both.wake_up_this(other);
    both.add_woken(other);
    both.park();
    ASSERT_LE(++wakes, slot_budget + 1);
  }
  EXPECT_EQ(wakes, slot_budget + 1);
}

TEST(RunQueueLifo, RunsTheOneThatBecameReadyLast) {
  pair_of_queues both(run_policy::lifo, 4);
  for (int f = 0; f < 4; ++f) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  for (int expected : {3, 2, 1, 0}) {
    EXPECT_EQ(both.running_one(), expected);
    both.park();
  }
  EXPECT_FALSE(both.running());
}

TEST(RunQueueHybrid, OfThoseThatYieldTwoTakeTurnsThenAllRun) {
  pair_of_queues both(run_policy::hybrid, 4);
  for (int f = 0; f < 4; ++f) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  std::vector<int> order, expected;
  for (unsigned i = 0; i < hybrid_adds + 6; ++i) {
    order.push_back(both.running_one());
    both.yield();
  }
  for (unsigned i = 0; i <= hybrid_adds; ++i)  // the first enters the slot, and so each as it yields
    expected.push_back(static_cast<int>(i % 2));
  expected.insert(expected.end(), {1, 2, 3, 0, 1});
  EXPECT_EQ(order, expected);
}

// The seed's lexer (0) and parser (1) among others that are ready: they switch a few times, then all others
// run, and then they go on.
TEST(RunQueueHybrid, APairAmongManySwitchesAFewTimesThenAllOthersRun) {
  pair_of_queues both(run_policy::hybrid, 10);
  for (int f : {0, 2, 3, 4, 5, 6, 7, 8, 9}) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  std::vector<int> order;
  while (order.size() < 1 + hybrid_adds + 9 + hybrid_adds) {
    const int self = both.running_one();
    order.push_back(self);
    if (self < 2) {
      both.wake_up_this(1 - self);
      both.add_woken(1 - self);
    }
    both.park();
  }
  std::vector<int> expected = {0};
  const auto pair = [&](int first) {  // to and fro, each time by the slot
    for (int i = 0; i < static_cast<int>(hybrid_adds); ++i)
      expected.push_back((first + i) % 2);
  };
  pair(1);
  expected.insert(expected.end(), {2, 3, 4, 5, 6, 7, 8, 9, 1});  // who is queued when that is spent
  pair(0);
  EXPECT_EQ(order, expected);
}

INSTANTIATE_TEST_SUITE_P(Policies, RunQueue, support::every_policy(), support::policy_name);

}  // namespace
