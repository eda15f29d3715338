// The fibers that can run, as a ring through their descriptors:
//
//          tail <- ... <- head          order of running: head first
//            |              ^
//            +-> (running) -+           the running fiber stands between tail and head
//
// To give way is to step on by one, without a store but `current`: the fiber that was running is then the
// tail. A fiber that blocks leaves the ring, one that becomes ready enters it at the tail. Nothing is
// allocated, so nothing can fail. While no fiber runs (the host or a decider does), `current` is the head.
//
//   fifo    ready fibers go to the tail; but the one woken last, which is likely to want what its waker just
//   touched,
//           waits beside the ring, in the slot, and goes first; when its waker blocks, it takes the waker's
//           place. The slot is used at most slot_budget times in a row, so that two fibers that wake each
//           other cannot keep the ring waiting.
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
  fiber* current = nullptr;  // the running fiber; while none runs, the head, or null

  explicit run_queue(run_policy policy) : plain_(policy == run_policy::fifo), policy_(policy) {}

  // A fiber runs: `current`.
  bool running() const { return running_; }
  bool empty() const { return current == nullptr && slot_ == nullptr; }
  // Fibers that are ready, the running one included. Counts them.
  std::size_t size() const;

  // All that is ready is in the ring, and who became ready last waits longest: to give way is one step.
  // (Dispatches by such a step do not renew the slot's budget: woken fibers may have to wait a little
  // earlier.)
  bool plain() const { return plain_; }

  // A fiber that became ready by itself, or in its turn.
  [[gnu::always_inline]] void add(fiber* f) {
    if (policy_ == run_policy::fifo) [[likely]]
      push_tail(f);
    else
      add_by_policy(f);
  }

  // A fiber that was woken by the running one.
  [[gnu::always_inline]] void add_woken(fiber* f) {
    if (policy_ != run_policy::fifo) [[unlikely]]
      return add_by_policy(f);
    if (slot_ != nullptr) [[unlikely]]
      push_tail(slot_);
    slot_ = f;
    plain_ = false;
  }

  // The running fiber gives way. Who runs next, already current: itself, if nobody else can.
  fiber* rotate();

  // The running fiber leaves the ring. Who runs next, already current; null, and nothing has changed: next()
  // must say.
  [[gnu::always_inline]] fiber* step_off() {
    fiber* self = current;
    if (!plain_) {
      fiber* woken = slot_;
      if (woken == nullptr)
        return nullptr;
      slot_ = nullptr;
      plain_ = true;
      if (budget_ != 0) [[likely]] {
        --budget_;
        replace_running(woken);
        return woken;
      }
      push_tail(woken);
    }
    fiber* next = self->next;
    if (next == self)
      return nullptr;
    budget_ = slot_budget;
    next->previous = self->previous;
    self->previous->next = next;
    return current = next;
  }

  // The running fiber leaves the ring and one that was not in it takes its place, and runs: a direct wake.
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

  // The running fiber leaves the ring; nobody runs.
  void remove_running() {
    unlink(current);
    running_ = false;
  }

  // While nobody runs: who runs next, already current; null: nobody can.
  fiber* next();

  // Nobody runs any more; who was running is the tail.
  void suspend_ring() {
    current = current->next;
    running_ = false;
  }

private:
  [[gnu::always_inline]] static void link_between(fiber* before, fiber* f, fiber* after) {
    f->previous = before;
    f->next = after;
    before->next = f;
    after->previous = f;
  }

  [[gnu::always_inline]] void push_tail(fiber* f) {
    if (current == nullptr)
      current = f->next = f->previous = f;
    else
      link_between(current->previous, f, current);
  }

  void push_head(fiber* f) {
    if (running_) {
      link_between(current, f, current->next);
    } else {
      push_tail(f);  // between tail and head: either, as the head is told
      current = f;
    }
  }

  void unlink(fiber* f) {
    current = f->next == f ? nullptr : f->next;
    f->previous->next = f->next;
    f->next->previous = f->previous;
  }

  void add_by_policy(fiber* f);
  void count_dispatch();

  bool plain_;
  bool running_ = false;
  run_policy policy_;
  unsigned budget_ = slot_budget;
  fiber* slot_ = nullptr;                // fifo: woken last, and not in the ring
  std::size_t adds_left_ = hybrid_adds;  // hybrid: adds that still go to the head
  std::size_t in_front_ = 0;             // hybrid: how many of them are still queued
  std::size_t first_left_ = 0;           // hybrid: of those queued at the beginning, how many have not run
};

}  // namespace sennit::detail
