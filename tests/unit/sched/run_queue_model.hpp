// A model of the run queue, as simple as possible, and a queue that is driven together with it: after each
// step both have the same order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sennit/detail/sched/run_queue.hpp"

namespace run_queue_test {

using namespace sennit::detail;
using sennit::run_policy;
using sennit::detail::fiber;

// What a policy is. Fibers are numbers; ready[0] is the head.
struct model {
  run_policy policy;
  std::optional<int> running;
  std::deque<int> ready;

  // fifo: woken last, and not in `ready`; how many more times in a row that may go before those who are.
  std::optional<int> slot;
  int budget = next_slot_budget;

  // hybrid: how many may still go first, by the next slot; none: the fibers that must run before the next
  // may, and those that have. The seed has it so (Dolan 2013, section 5.2): "the first few tasks added to the
  // run-queue will be added to its head in a LIFO fashion. After this, future add operations will add to the
  // tail, until the run-queue has cycled completely (every fiber initially on the queue has run). Then, the
  // LIFO count will be reset." Ours are not so few: twice as many as had to wait, the last time; but only one
  // at once, and no new fibers; and when the count is spent, the queued fibers are fixed.
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

  // Puts a fiber behind all the others, without an addition to the queue.
  void put_last(int f) { ready.push_back(f); }

  // No fiber runs: dispatches one.
  void dispatch() {
    if (slot && (policy == run_policy::hybrid || budget > 0 || ready.empty())) {
      budget -= budget > 0 && !ready.empty();
      running = *std::exchange(slot, std::nullopt);
      return;
    }
    budget = next_slot_budget;
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
  // The joined child runs, past the others.
  void enter_child(int f) {
    ready.erase(std::find(ready.begin(), ready.end(), f));
    initially.erase(f);
    running = f;
  }
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

  // A fiber that has ended begins anew.
  void add(int f) {
    const bool is_new = has_ended(f);
    make_ready(f);
    at(f)->flags.status = is_new ? fiber_status::begins : fiber_status::notified;
    queue_.add(at(f));
    model_.add(f);
  }
  void add_woken(int f) {
    make_ready(f);
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
    fiber& self = *queue_.current;
    finish_park(queue_.try_pop_current_fast(self));
    parked(self);
    model_.leave();
    model_.dispatch();
  }
  // As sennit::detail::park_joining, for a child that is ready. Returns whether the child runs next although
  // it is not in its turn.
  bool park_joining(int child) {
    fiber& self = *queue_.current;
    const bool has_begun = at(child)->flags.status != fiber_status::begins;
    const bool is_first = self.next == at(child);
    fiber* const next = queue_.try_pop_current_joining(self, *at(child));
    const bool in_turn = is_first || model_.slot == child || model_.policy == run_policy::lifo;
    const bool goes_first = next == at(child) && !in_turn;
    EXPECT_FALSE(goes_first && has_begun);
    finish_park(next);
    parked(self);
    model_.leave();
    goes_first ? model_.enter_child(child) : model_.dispatch();
    return goes_first;
  }
  // Does what sennit_dispatch_park() does.
  void decided_park() {
    fiber& self = *queue_.current;
    queue_.remove_running();
    parked(self);
    model_.leave();
    compare();
    EXPECT_EQ(queue_.next(), queue_.current);
    model_.dispatch();
  }
  // The running one has woken another, and blocks.
  void hand_over(int f) {
    fiber& self = *queue_.current;
    make_ready(f);
    EXPECT_EQ(queue_.pop_current_to(self, *at(f)), queue_.current);
    parked(self);
    model_.add_woken(f);
    model_.leave();
    model_.dispatch();
  }
  // A fiber ends, and whoever joins it takes its place.
  void replace(int f) {
    if (!queue_.plain())
      return put_back(f);
    asleep_.push_back(running_one());
    fiber& self = *queue_.current;
    make_ready(f);
    queue_.replace(self, *at(f));
    self.flags.status = fiber_status::finished;  // it keeps what it had of the ring
    model_.leave();
    model_.enter(f);
  }
  // The host resumes.
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
    const fiber* const beside = queue_.in_next_slot();
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
  bool has_ended(int f) {
    return at(f)->flags.status == fiber_status::finished || at(f)->flags.status == fiber_status::unused;
  }
  void make_ready(int f) { at(f)->flags.status = fiber_status::notified; }
  void parked(fiber& f) {
    asleep_.push_back(static_cast<int>(&f - fibers_.data()));
    f.flags.status = fiber_status::parked;
    f.since = 1;
    f.previous = nullptr;  // a list's, which may be gone by now
  }
  void finish_park(fiber* next) {
    if (next == nullptr)
      next = queue_.pop_current_fallback(*queue_.current);
    if (next != nullptr) {
      EXPECT_EQ(next, queue_.current);
    } else {
      queue_.remove_running();
      EXPECT_EQ(queue_.next(), queue_.current);
    }
  }
  fiber* at(int f) { return &fibers_[static_cast<std::size_t>(f)]; }

  run_queue queue_;
  model model_;
  std::vector<fiber> fibers_;
  std::deque<int> asleep_;  // not in the queue
};

}  // namespace run_queue_test
