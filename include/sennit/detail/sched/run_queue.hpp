// The fibers that can run, as a ring through their descriptors:
//
//          head -> ... -> tail          order of running: head first
//            ^              |
//            +- (running) <-+           the running fiber stands between tail and head
//
// To give way is to step on by one: the fiber that was running is then the tail. A fiber that blocks leaves
// the ring, one that becomes ready enters it at the tail. Nothing is allocated, so nothing can fail; nobody
// leaves but who runs, so one link each is enough.
//
//   fifo    ready fibers go to the tail; but the one woken last, which is likely to want what its waker just
//           touched, waits beside the ring, in the slot, and goes first; when its waker blocks, it takes the
//           waker's place. While others wait in the ring the slot is used at most slot_budget times in a
//           row, so that two fibers that wake each other cannot keep them waiting.
//   lifo    ready fibers go to the head; the first of it is in the slot, if it is new.
//   hybrid  who was woken last goes first, as with fifo, and so does who gives way, once more in the slot; so
//           many times, then all become ready in the ring, until every fiber that is queued there has run;
//           then it begins again. So many: twice as many as had to wait for that, but hybrid_adds at least.
//
// Measured against a ring buffer of pointers: giving way costs 6 to 7 cycles here, 8 to 12 there: what one
// yield stores there the next one loads through two indices that are themselves stored and loaded.
//
// Source: Dolan 2013, section 5.2 (fairness of wait queues).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/run_policy.hpp"

namespace sennit::detail {

inline constexpr int slot_budget = 16;
inline constexpr unsigned hybrid_adds = 128;
inline constexpr unsigned hybrid_adds_each = 2;  // for each that had to wait

class run_queue {
public:
  fiber* current = nullptr;  // the running fiber, or null

  explicit run_queue(run_policy policy);
  // Of a parallel runtime's worker: its fibers are queued elsewhere. One that waits by this queue, or yields,
  // has taken something of sennit::local: it is told so, and the program ends. The queue is never plain, so
  // all of that goes by the slower paths of the other policies, where it costs these one comparison.
  void refuse() noexcept;

  // A fiber runs: `current`.
  bool running() const { return current != nullptr; }
  bool empty() const { return tail_ == nullptr && beside() == nullptr; }  // nor does one run
  // Fibers that are ready, the running one included. Counts them.
  std::size_t size() const;
  // For another thread, which may be wrong: one runs, and another one is ready.
  SENNIT_UNSANITIZED bool seems_to_have_others() const noexcept {
    const fiber* const runs = look(current);
    const fiber* const woken = look(slot_);
    return runs != nullptr && (look(runs->next) != runs || (woken != nullptr && woken != look(none_)));
  }
  // Who is next in the ring, or null.
  const fiber* head() const {
    const fiber* before = running() ? current : tail_;
    return before == nullptr || before->next == current ? nullptr : before->next;
  }

  // Who is ready and not in the ring, or null.
  const fiber* beside() const { return slot_taken() ? slot_ : nullptr; }

  // All that is ready is in the ring, and who became ready last waits longest: to give way is one step.
  // (Such a step does not renew the slot's budget: woken fibers may have to wait a little earlier.)
  bool plain() const { return slot_ == nullptr; }

  // A fiber that became ready by itself, or in its turn.
  SENNIT_INLINE void add(fiber* f) {
    if (policy_ == run_policy::lifo) [[unlikely]]
      make_way(f);
    else
      push_tail(f);
  }

  // The same, by the running fiber: the ring has a tail then.
  SENNIT_INLINE void add_by_running(fiber* f) {
    if (policy_ == run_policy::lifo) [[unlikely]]
      make_way(f);
    else
      push_behind(tail_, f);
  }

  // One that gives way, and is in the queue no more.
  void add_last(fiber* f) { push_tail(f); }

  // A fiber that was woken by the running one.
  SENNIT_INLINE void add_woken(fiber* f) {
    if (slot_ != nullptr) [[unlikely]]
      make_way(f);
    else
      slot_ = f;
  }

  // The running fiber gives way. Who runs next, already current: itself, if nobody else can.
  SENNIT_INLINE fiber* rotate() {
    if (!plain()) [[unlikely]]
      return rotate_slow();
    tail_ = current;
    return current = current->next;
  }

  // The running fiber, `self`, leaves the ring. Who runs next, already current; null, and nothing has
  // changed: next() must say.
  SENNIT_INLINE fiber* step_off(fiber& self) {
    fiber* const next = step_off_quickly(self);
    return next != nullptr ? next : step_off_otherwise(self);
  }
  fiber* step_off_otherwise(fiber& self) { return slot_ == nullptr ? nullptr : step_off_slow(self); }

  // The same, or null: then step_off_otherwise() says.
  SENNIT_INLINE fiber* step_off_quickly(fiber& self) {
    if (fiber* const woken = slot_; woken != nullptr) {
      fiber* const none = none_;
      fiber* const next = self.next;  // at once, so that it is read only once
      if (woken == none || !may_pass(self, next)) [[unlikely]]
        return nullptr;
      store_in_turn(slot_, none);
      replace(self, next, *woken);
      return woken;
    }
    fiber* next = self.next;
    if (next == &self) [[unlikely]]
      return nullptr;
    if (next == nullptr)
      __builtin_unreachable();
    if (budget_ != slot_budget) [[unlikely]]  // a look costs less than a store
      budget_ = slot_budget;
    fiber* const tail = tail_;
    store_in_turn(current, next);
    store_in_turn(tail->next, next);
    return next;
  }

  // The same where the running fiber has woken one, which is to run next.
  SENNIT_INLINE fiber* step_off_to(fiber& self, fiber& woken) {
    fiber* const next = self.next;
    if (slot_ != nullptr || !may_pass(self, next)) [[unlikely]]
      return step_off_to_slow(self, woken);
    replace(self, next, woken);
    return &woken;
  }

  // The running fiber, `self`, leaves the ring, and one that was not in it takes its place, and runs: a
  // direct wake. (Nothing is read behind the store through tail_, where self.next may lie: as long as the
  // address of a store is on its way, loads overtake it, and all from there on is done again if they were not
  // to. Zen 4 learns which were not to, but of two dozen loads only.)
  SENNIT_INLINE void replace(fiber& self, fiber& f) { replace(self, self.next, f); }

  // The running fiber leaves the ring; nobody runs.
  void remove_running() {
    if (current->next == current)
      tail_ = nullptr;
    else
      tail_->next = current->next;
    current = nullptr;
  }

  // While nobody runs: who runs next, already current; null: nobody can.
  SENNIT_INLINE fiber* next() {
    fiber* const woken = slot_;
    if (woken == none_) [[unlikely]]
      return next_slow();
    if (fiber* const tail = tail_; tail == nullptr) {
      tail_ = woken->next = woken;
    } else {
      if (--budget_ < 0) [[unlikely]]
        return next_slow();
      woken->next = std::exchange(tail->next, woken);
    }
    slot_ = none_;
    return current = woken;
  }

  // Nobody runs any more; who was running is the tail.
  void put_back() { tail_ = std::exchange(current, nullptr); }

private:
  friend struct run_queue_layout;  // capi's

  SENNIT_INLINE void replace(fiber& self, fiber* next, fiber& f) {
    if (next == &self) [[likely]] {
      store_in_turn(tail_, &f);
      next = &f;
    } else {
      store_in_turn(tail_->next, &f);
    }
    store_in_turn(current, &f);
    store_in_turn(f.next, next);
  }

  // Whether one that is not in the ring may take the place of the running one, whose next is `next`: unless
  // others have waited for too many.
  SENNIT_INLINE bool may_pass(const fiber& self, const fiber* next) {
    return next == &self || --budget_ >= 0;
  }

  // The ring's order is told from its tail, running or not: after it comes who runs, or else the head.
  SENNIT_INLINE void push_tail(fiber* f) {
    fiber* tail = tail_;
    if (tail == nullptr) [[unlikely]]
      tail = f->next = f;
    push_behind(tail, f);
  }
  SENNIT_INLINE void push_behind(fiber* tail, fiber* f) {
    f->next = tail->next;
    tail->next = f;
    tail_ = f;
  }

  void push_head(fiber* f);
  bool slot_taken() const { return slot_ != none_; }
  void should_be_local() const noexcept;
  void make_way(fiber* f);
  void empty_slot();
  bool may_go_first();
  void begin_turns();
  void had_turn();
  fiber* rotate_slow();
  fiber* step_off_slow(fiber& self);
  fiber* step_off_to_slow(fiber& self, fiber& woken);
  fiber* next_slow();

  static fiber by_policy_;
  static fiber elsewhere_;

  fiber* tail_ = nullptr;
  fiber* slot_;  // not in the ring: who goes first; or none
  fiber* none_;  // null; but where the policy is not fifo &by_policy_, so that the slot is never null, and
                 // one test serves for all that is not plain; &elsewhere_ once it refuses
  int budget_ = slot_budget;  // how often who is in the slot may still pass the ring; where the policy is not
                              // fifo, which sees to that itself, at least once
  run_policy policy_;
  std::uint8_t add_costs_;            // of adds_left_
  unsigned adds_left_ = hybrid_adds;  // hybrid: how many may still go first
  unsigned turns_ = 0;                // hybrid: once none may, how many in the ring have run
  const fiber* last_ = nullptr;       // and the last who is to
};

}  // namespace sennit::detail
