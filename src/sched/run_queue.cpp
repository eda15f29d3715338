// The run queue's slower paths: those that a decider takes, and the policies that are not fifo.
#include "sennit/detail/sched/run_queue.hpp"

#include <algorithm>
#include <utility>

namespace sennit::detail {

fiber run_queue::by_policy_;

run_queue::run_queue(run_policy policy)
    : slot_(policy == run_policy::fifo ? nullptr : &by_policy_),
      budget_(policy == run_policy::fifo ? slot_budget : 0),
      policy_(policy) {}

std::size_t run_queue::size() const {
  std::size_t count = slot_taken() ? 1 : 0;
  if (const fiber* f = tail_)
    do {
      ++count;
      f = f->next;
    } while (f != tail_);
  return count;
}

// add_woken, when the slot is taken, or the policy has none.
void run_queue::make_way(fiber* f) {
  if (policy_ != run_policy::fifo)
    return add_by_policy(f);
  push_tail(slot_);
  slot_ = f;
}

// Who was woken last enters the ring: at its head, or, the budget being spent, behind those who are there.
void run_queue::empty_slot() {
  fiber* woken = std::exchange(slot_, nullptr);
  if (tail_ == nullptr) {  // it keeps nobody waiting
    budget_ = slot_budget;
    push_head(woken);
  } else if (budget_ != 0) {
    --budget_;
    push_head(woken);
  } else {
    budget_ = slot_budget;
    push_tail(woken);
  }
}

fiber* run_queue::rotate_slow() {
  fiber* self = current;
  if (policy_ == run_policy::fifo) {
    empty_slot();
    return rotate();
  }
  if (step_off_slow(*self) == nullptr)
    return self;
  add_by_policy(self);  // behind or right after the one that now runs
  return current;
}

fiber* run_queue::step_off_slow(fiber& self) {
  if (policy_ == run_policy::fifo) {           // the budget is spent
    push_tail(std::exchange(slot_, nullptr));  // and plain again
    return step_off(self);
  }
  if (slot_taken())
    replace(self, *std::exchange(slot_, &by_policy_));
  else if (self.next == &self)
    return nullptr;
  else
    tail_->next = current = self.next;
  count_dispatch();
  return current;
}

fiber* run_queue::step_off_to_slow(fiber& self, fiber& woken) {
  add_woken(&woken);
  return step_off(self);
}

fiber* run_queue::next_slow() {
  if (policy_ != run_policy::fifo) {
    if (slot_taken())
      push_head(std::exchange(slot_, &by_policy_));
  } else if (slot_taken()) {
    empty_slot();
  } else {
    budget_ = slot_budget;
  }
  if (tail_ == nullptr)
    return nullptr;
  current = tail_->next;
  count_dispatch();
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
  if (running() && before == tail_)  // nobody else is ready
    tail_ = f;
}

void run_queue::add_by_policy(fiber* f) {
  if (policy_ == run_policy::hybrid) {
    if (adds_left_ == 0 || in_front_ == hybrid_in_front)
      return push_tail(f);
    --adds_left_;
    ++in_front_;
  }
  if (slot_taken()) [[unlikely]]
    push_head(slot_);
  slot_ = f;
}

// hybrid: the head is dispatched, one of those put in front or one of those queued at the beginning.
void run_queue::count_dispatch() {
  if (policy_ != run_policy::hybrid)
    return;
  if (in_front_ > 0)
    --in_front_;
  else
    ++turns_;
  if (current == last_)
    last_ = nullptr;
  if (in_front_ == 0 && last_ == nullptr) {
    adds_left_ = std::max(hybrid_adds, hybrid_adds_each * std::exchange(turns_, 0u));
    last_ = tail_ != current ? tail_ : nullptr;
  }
}

}  // namespace sennit::detail
