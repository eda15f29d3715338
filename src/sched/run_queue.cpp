// The run queue's slower paths: those in scheduler steps, and the policies that are not fifo.
#include "sennit/detail/sched/run_queue.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

fiber run_queue::by_policy_;
fiber run_queue::elsewhere_;

run_queue::run_queue(run_policy policy)
    : next_slot_(policy == run_policy::fifo ? nullptr : &by_policy_),
      none_(next_slot_),
      policy_(policy),
      add_costs_(policy == run_policy::hybrid ? 1 : 0) {}

void run_queue::refuse() noexcept {
  next_slot_ = none_ = &elsewhere_;
  policy_ = run_policy::lifo;
}

namespace {

[[noreturn, gnu::cold]] void refuse_fiber(fiber& f) noexcept {
  std::fprintf(
      stderr,
      "sennit: fiber %llu \"%s\" of a sennit::runtime waits or yields by something of sennit::local, or "
      "spawns by it, which is for fibers of a sennit::local::runtime: take what is called the same in "
      "namespace sennit\n",
      static_cast<unsigned long long>(fiber_id(f)), fiber_name(f));
  std::abort();
}

}  // namespace

// Called by all operations of policies other than fifo.
[[gnu::always_inline]] inline void run_queue::should_be_local() const noexcept {
  if (none_ == &elsewhere_) [[unlikely]]
    refuse_fiber(*current);
}

std::size_t run_queue::size() const {
  std::size_t count = next_slot_taken() ? 1 : 0;
  if (const fiber* f = tail_)
    do {
      ++count;
      f = f->next;
    } while (f != tail_);
  return count;
}

// Returns whether one more fiber may be put into the next slot, and counts it. Not for fifo.
[[gnu::always_inline]] inline bool run_queue::may_go_first() {
  if (adds_left_ == 0)
    return false;
  adds_left_ -= add_costs_;
  return true;
}

// The first fiber in the ring is about to run. For hybrid, when none may run first any more, a turn begins
// for all fibers in the ring.
[[gnu::always_inline]] inline void run_queue::begin_turns() {
  if (adds_left_ == 0 && last_ == nullptr)
    last_ = tail_;
}

// Called when that fiber is current.
[[gnu::always_inline]] inline void run_queue::had_turn() {
  if (adds_left_ != 0)
    return;
  ++turns_;
  if (current == last_) {
    adds_left_ = std::max(hybrid_adds, hybrid_adds_each * std::exchange(turns_, 0u));
    last_ = nullptr;
  }
}

// add_woken() when the next slot is taken, or the policy is not fifo.
void run_queue::displace_next_slot(fiber* f) {
  if (!next_slot_taken()) {
    should_be_local();
    if (!may_go_first())
      return push_tail(f);
    budget_ = 1;
  } else if (policy_ == run_policy::lifo) {
    push_head(next_slot_);
  } else {  // hybrid: f takes over the place that was counted
    push_tail(next_slot_);
  }
  next_slot_ = f;
}

// Takes a child of the running fiber, `self`, out of the ring, if it has not begun, and the fiber before it
// is known: the one behind which it was queued, unless that has left the ring, or others have come between.
SENNIT_UNSANITIZED bool run_queue::take_new(const fiber& self, fiber& child) {
  // A fiber of this worker that is ready, or runs, is then in the ring.
  if (next_slot_taken() || policy_ == run_policy::lifo)
    return false;
  // Before it parks for the first time, no list changes `previous`. If that is the child itself, it is
  // unknown.
  if (child.flags.status != fiber_status::begins || child.home != self.home || &child == last_)
    return false;
  auto& before = static_cast<fiber&>(*child.previous);
  const fiber_status status = before.flags.status;
  const bool in_ring = status == fiber_status::begins || status == fiber_status::notified ||
                       status == fiber_status::timed_out || status == fiber_status::stopped;
  if (!in_ring || before.home != self.home || before.next != &child || &before == &child)
    return false;
  fiber& behind = *child.next;
  before.next = &behind;
  if (behind.flags.status == fiber_status::begins)
    behind.previous = &before;
  if (tail_ == &child)
    tail_ = &before;
  return true;
}

fiber* run_queue::try_pop_current_to_new(fiber& self, fiber& child) {
  if (!take_new(self, child))
    return try_pop_current_fast(self);
  replace(self, child);
  return &child;
}

void run_queue::bring_forward(const fiber& self, fiber& child) noexcept {
  if (take_new(self, child))
    add_woken(&child);
}

// The fiber woken last enters the ring, which is not empty: at its head, or, if the budget is spent, at its
// tail.
void run_queue::empty_next_slot() {
  fiber* woken = std::exchange(next_slot_, nullptr);
  if (budget_ > 0) {
    --budget_;
    push_head(woken);
  } else {
    budget_ = next_slot_budget;
    push_tail(woken);
  }
}

fiber* run_queue::rotate_slow() {
  if (policy_ == run_policy::fifo) {
    empty_next_slot();
    return rotate();
  }
  should_be_local();
  fiber* const self = current;
  if (next_slot_taken()) {
    fiber* const first = next_slot_;
    if (may_go_first()) {
      next_slot_ = self;
      replace(*self, *first);
    } else {
      next_slot_ = none_;
      first->next = std::exchange(self->next, first);
      tail_ = std::exchange(current, first);
    }
    return current;
  }
  if (self->next == self)
    return self;
  if (may_go_first()) {
    next_slot_ = self;
    budget_ = 1;
    return tail_->next = current = self->next;
  }
  begin_turns();
  tail_ = std::exchange(current, self->next);
  had_turn();
  return current;
}

fiber* run_queue::pop_current_slow(fiber& self) {
  if (policy_ == run_policy::fifo) {                // the budget is spent
    push_tail(std::exchange(next_slot_, nullptr));  // and plain again
    return pop_current(self);
  }
  should_be_local();
  if (self.next == &self)
    return nullptr;
  begin_turns();
  tail_->next = current = self.next;
  had_turn();
  return current;
}

fiber* run_queue::pop_current_to_slow(fiber& self, fiber& woken) {
  add_woken(&woken);
  return pop_current(self);
}

fiber* run_queue::next_slow() {
  if (policy_ == run_policy::fifo) {
    if (next_slot_taken())  // the budget is spent
      empty_next_slot();
    else
      budget_ = next_slot_budget;
  }
  if (tail_ == nullptr)
    return nullptr;
  begin_turns();
  current = tail_->next;
  had_turn();
  return current;
}

void run_queue::push_head(fiber* f) {
  fiber* before = running() ? current : tail_;
  if (before == nullptr) {
    tail_ = f->next = f;
    return;
  }
  f->next = before->next;
  before->next = f;
  if (running() && before == tail_)  // no other fiber is ready
    tail_ = f;
}

}  // namespace sennit::inline v0_1::detail
