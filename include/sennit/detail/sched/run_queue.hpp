// The fibers that can run, as a ring through their descriptors:
//
//          tail <- ... <- head          order of running: head first
//            |              ^
//            +-> (running) -+           the running fiber stands between tail and head
//
// To give way is to step on by one, without a store but `current`: the fiber that was running is then the
// tail. A fiber that blocks leaves the ring, one that becomes ready enters it, at the tail or at the head.
// Nothing is allocated, so nothing can fail. When the host runs, which is not in the ring, `head_` says where
// it begins.
//
//   fifo    ready fibers go to the tail; but the one woken last goes to the head, for it is likely to want
//   what
//           its waker just touched (the slot). The slot is used at most slot_budget times in a row, so that
//           two fibers that wake each other cannot keep the ring waiting.
//   lifo    ready fibers go to the head.
//   hybrid  the first hybrid_adds go to the head, later ones to the tail until every fiber that was queued
//   when
//           this began has run; then it begins again.
//
// Measured against a ring buffer of pointers: giving way costs 6 cycles here, 22 there (a store that the next
// round must load again, through two indices that live in memory).
//
// Source: Dolan 2013, section 5.2 (fairness of wait queues).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/sched/fiber.hpp"
#include "sennit/run_policy.hpp"

namespace sennit::detail {

inline constexpr unsigned slot_budget = 16;
inline constexpr std::size_t hybrid_adds = 4;

class run_queue {
public:
  fiber* current = nullptr;  // who runs: a fiber in the ring, or the host

  run_queue(run_policy policy, fiber& host)
      : current(&host), plain_(policy == run_policy::fifo), policy_(policy), host_(&host) {}

  // Fibers in the ring, the running one included.
  std::size_t size() const { return size_; }

  // Nothing but a step to the next in the ring is needed to give way. (A dispatch by such a step does not
  // renew the slot's budget: woken fibers may have to wait a little earlier.)
  bool plain() const { return plain_; }

  // A fiber that became ready by itself.
  [[gnu::always_inline]] void add(fiber* f) {
    if (policy_ == run_policy::fifo) [[likely]]
      push_tail(f);
    else
      add_by_policy(f);
  }

  // A fiber that was woken.
  [[gnu::always_inline]] void add_woken(fiber* f) {
    if (policy_ != run_policy::fifo) [[unlikely]]
      return add_by_policy(f);
    if (slot_ != nullptr)
      move_slot_to_tail();
    push_head(f);
    slot_ = f;
    plain_ = false;
  }

  // The running fiber gives way. Who runs next: itself, if nobody else can.
  fiber* rotate() {
    fiber* self = current;
    if (policy_ == run_policy::fifo) [[likely]] {
      if (size_ == 1)
        return self;
      return dispatched(self->next);
    }
    if (size_ == 1)
      return self;
    unlink(self);
    current = host_;
    fiber* next = dispatched(head_);
    current = next;
    add_by_policy(self);
    return next;
  }

  // The running fiber leaves the ring (blocked or finished). Afterwards next() says who runs.
  [[gnu::always_inline]] void remove_running() {
    fiber* self = current;
    current = host_;
    unlink(self);
  }

  // The running fiber leaves the ring, and somebody else is in it: who runs next, already current.
  [[gnu::always_inline]] fiber* step_off() {
    fiber* self = current;
    fiber* next = self->next;
    next->previous = self->previous;
    self->previous->next = next;
    --size_;
    if (!plain_) [[unlikely]] {
      head_ = next;
      current = host_;
      next = dispatched(next);
    }
    current = next;
    return next;
  }

  // The running fiber leaves the ring and a fiber that was not in it takes its place, and runs: a direct
  // wake.
  [[gnu::always_inline]] void replace_running(fiber* f) {
    fiber* self = current;
    current = f;
    if (self->next == self) {
      f->next = f->previous = f;
      return;
    }
    f->next = self->next;
    f->previous = self->previous;
    f->next->previous = f;
    f->previous->next = f;
  }

  // Who runs next when the running one is not in the ring; null: nobody can.
  [[gnu::always_inline]] fiber* next() {
    if (size_ == 0)
      return nullptr;
    return dispatched(head_);
  }

  // The host goes on; the fiber that was running stays in its place.
  void suspend_ring() {
    if (current != host_)
      head_ = current->next;
    current = host_;
  }

private:
  // The ring's place before which the tail is, after which comes the head.
  [[gnu::always_inline]] void link_between(fiber* before, fiber* f, fiber* after) {
    f->previous = before;
    f->next = after;
    before->next = f;
    after->previous = f;
    ++size_;
  }

  [[gnu::always_inline]] void push_tail(fiber* f) {
    if (size_ == 0) {
      f->next = f->previous = head_ = f;
      size_ = 1;
      return;
    }
    fiber* after = current != host_ ? current : head_;
    link_between(after->previous, f, after);
  }

  [[gnu::always_inline]] void push_head(fiber* f) {
    if (current != host_) {
      link_between(current, f, current->next);
      return;
    }
    push_tail(f);  // between tail and head it is either
    head_ = f;
  }

  [[gnu::always_inline]] void unlink(fiber* f) {
    head_ = f->next;
    f->previous->next = f->next;
    f->next->previous = f->previous;
    --size_;
  }

  [[gnu::noinline]] void move_slot_to_tail() {
    fiber* f = slot_;
    slot_ = nullptr;
    plain_ = true;
    fiber* head = current != host_ ? nullptr : head_;
    unlink(f);
    if (head != nullptr && head != f)
      head_ = head;
    push_tail(f);
  }

  [[gnu::always_inline]] fiber* dispatched(fiber* f) {
    if (f == slot_) {
      if (budget_ == 0 && size_ > 1) {
        move_slot_to_tail();
        budget_ = slot_budget;
        return current != host_ ? current->next : head_;
      }
      slot_ = nullptr;
      plain_ = true;
      budget_ -= budget_ != 0;
      return f;
    }
    budget_ = slot_budget;
    if (policy_ == run_policy::hybrid) [[unlikely]]
      count_dispatch();
    return f;
  }

  void add_by_policy(fiber* f) {
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

  // hybrid: a fiber leaves the head: one of those put in front, or one of those queued at the beginning.
  void count_dispatch() {
    if (in_front_ > 0)
      --in_front_;
    else if (first_left_ > 0)
      --first_left_;
    if (in_front_ == 0 && first_left_ == 0) {
      adds_left_ = hybrid_adds;
      first_left_ = size_ - 1;
    }
  }

  bool plain_;
  run_policy policy_;
  unsigned budget_ = slot_budget;
  fiber* head_ = nullptr;  // valid while the host runs and the ring is not empty
  fiber* slot_ = nullptr;  // the head, if it was put there by being woken
  std::size_t size_ = 0;
  fiber* host_;
  std::size_t adds_left_ = hybrid_adds;  // hybrid: adds that still go to the head
  std::size_t in_front_ = 0;             // hybrid: how many of them are still queued
  std::size_t first_left_ = 0;           // hybrid: of those queued at the beginning, how many have not run
};

}  // namespace sennit::detail
