// The run queue's slower paths: those that a decider takes, and the policies that are not fifo.
#include "sennit/detail/sched/run_queue.hpp"

#include <utility>

namespace sennit::detail {

std::size_t run_queue::size() const {
  std::size_t count = slot_ != nullptr ? 1 : 0;
  if (const fiber* f = current)
    do {
      ++count;
      f = f->next;
    } while (f != current);
  return count;
}

fiber* run_queue::rotate() {
  fiber* self = current;
  if (policy_ == run_policy::fifo) {
    fiber* woken = std::exchange(slot_, nullptr);
    plain_ = true;
    if (woken != nullptr && budget_ != 0) {
      --budget_;
      link_between(self, woken, self->next);
    } else {
      budget_ = slot_budget;
      if (woken != nullptr)
        push_tail(woken);
    }
    return current = self->next;
  }
  if (self->next == self)
    return self;
  unlink(self);
  count_dispatch();
  add_by_policy(self);  // behind or right after the one that now runs
  return current;
}

fiber* run_queue::next() {
  if (fiber* woken = std::exchange(slot_, nullptr)) {
    plain_ = true;
    if (budget_ != 0 || current == nullptr) {
      budget_ -= budget_ != 0;
      push_head(woken);
    } else {
      budget_ = slot_budget;
      push_tail(woken);
    }
  } else {
    budget_ = slot_budget;
  }
  if (current == nullptr)
    return nullptr;
  count_dispatch();
  running_ = true;
  return current;
}

void run_queue::add_by_policy(fiber* f) {
  if (policy_ == run_policy::lifo) {
    push_head(f);
  } else if (adds_left_ > 0) {
    --adds_left_;
    ++in_front_;
    push_head(f);
  } else {
    push_tail(f);
  }
}

// hybrid: the head is dispatched, one of those put in front or one of those queued at the beginning.
void run_queue::count_dispatch() {
  if (policy_ != run_policy::hybrid)
    return;
  if (in_front_ > 0)
    --in_front_;
  else if (first_left_ > 0)
    --first_left_;
  if (in_front_ == 0 && first_left_ == 0) {
    adds_left_ = hybrid_adds;
    first_left_ = size() - 1;
  }
}

}  // namespace sennit::detail
