// The ready fibers, as a ring through their descriptors:
//
//          head -> ... -> tail          order of running: head first
//            ^              |
//            +- (running) <-+           the running fiber stands between tail and head
//
// A yield is one step forward: the fiber that was running becomes the tail. A fiber that blocks leaves the
// ring, and one that becomes ready enters it at the tail. Nothing is allocated, so nothing can fail. Only the
// running fiber leaves, so one link per fiber is enough.
//
//   fifo    Ready fibers go to the tail, except the one woken last, which probably uses the data that its
//           waker just touched. It waits beside the ring, in the next slot, and runs first. When its waker
//           blocks, it takes the waker's place. While others wait in the ring, the next slot is used at most
//           next_slot_budget times in a row, so that two fibers that wake each other cannot keep them
//           waiting.
//   lifo    Ready fibers go to the head. The first one is in the next slot, if it is new.
//   hybrid  The fiber woken last runs first, as with fifo. So does a fiber that has yielded, by way of the
//           next slot. After a limited number of such uses, all fibers become ready in the ring, until every
//           fiber queued there has run. Then it starts again. The limit is twice the number of fibers that
//           had to wait, but at least hybrid_adds.
//
// Measured against a ring buffer of pointers: a yield costs 6 to 7 cycles here, 8 to 12 there. In the buffer,
// the next yield loads what one has stored, through two indices that are themselves stored and loaded.
//
// Source: Dolan 2013, section 5.2 (fairness of wait queues).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/run_policy.hpp"

namespace sennit::inline v0_1::detail {

inline constexpr int next_slot_budget = 16;
inline constexpr unsigned hybrid_adds = 128;
inline constexpr unsigned hybrid_adds_each = 2;  // for each fiber that had to wait

class run_queue {
public:
  fiber* current = nullptr;  // the running fiber, or null

  explicit run_queue(run_policy policy);
  // For a parallel runtime's worker, whose fibers are queued elsewhere. A fiber that waits by this queue, or
  // yields, has used something of sennit::local: the program ends with a message. The queue is never plain,
  // so all such uses take the slower paths of the other policies. There this costs one comparison.
  void refuse() noexcept;

  // A fiber runs: `current`.
  bool running() const { return current != nullptr; }
  bool empty() const { return tail_ == nullptr && in_next_slot() == nullptr; }  // and no fiber runs
  // Counts the ready fibers, including the running one.
  std::size_t size() const;
  // For other threads; the answer may be wrong. Returns whether one fiber runs and another is ready.
  SENNIT_UNSANITIZED bool seems_to_have_others() const noexcept {
    const fiber* const runs = look(current);
    const fiber* const woken = look(next_slot_);
    return runs != nullptr && (look(runs->next) != runs || (woken != nullptr && woken != look(none_)));
  }
  // Returns the next fiber in the ring, or null.
  const fiber* head() const {
    const fiber* before = running() ? current : tail_;
    return before == nullptr || before->next == current ? nullptr : before->next;
  }

  // Returns the ready fiber that is not in the ring, or null.
  const fiber* in_next_slot() const { return next_slot_taken() ? next_slot_ : nullptr; }

  // All ready fibers are in the ring, in the order in which they became ready: a yield is one step. (Such a
  // step does not renew the next slot's budget. Woken fibers may have to wait a little earlier.)
  bool plain() const { return next_slot_ == nullptr; }

  // Adds a fiber that became ready by itself, or in its turn.
  SENNIT_INLINE void add(fiber* f) {
    if (policy_ == run_policy::lifo) [[unlikely]]
      displace_next_slot(f);
    else
      push_tail(f);
  }

  // Like add(), for a caller that runs in a fiber: the ring then has a tail.
  SENNIT_INLINE void add_by_running(fiber* f) {
    if (policy_ == run_policy::lifo) [[unlikely]]
      displace_next_slot(f);
    else
      push_behind(tail_, f);
  }

  // Adds a fiber that has yielded and is no longer in the queue.
  void add_last(fiber* f) { push_tail(f); }

  // Adds a fiber that the running one has woken.
  SENNIT_INLINE void add_woken(fiber* f) {
    if (next_slot_ == nullptr) [[likely]]
      next_slot_ = f;
    else
      displace_next_slot(f);
  }

  // The running fiber yields. Returns the next fiber, already current: itself if there is no other one.
  SENNIT_INLINE fiber* rotate() {
    if (!plain()) [[unlikely]]
      return rotate_slow();
    tail_ = current;
    return current = current->next;
  }

  // The running fiber, `self`, leaves the ring. Returns the next fiber, already current. Returns null without
  // a change if next() must decide.
  SENNIT_INLINE fiber* pop_current(fiber& self) {
    fiber* const next = try_pop_current_fast(self);
    return next != nullptr ? next : pop_current_fallback(self);
  }
  fiber* pop_current_fallback(fiber& self) {
    return next_slot_ == nullptr ? nullptr : pop_current_slow(self);
  }

  // The inline part of pop_current(). Returns null if pop_current_fallback() must decide.
  SENNIT_INLINE fiber* try_pop_current_fast(fiber& self) {
    if (fiber* const woken = next_slot_; woken != nullptr) {
      fiber* const none = none_;
      fiber* const next = self.next;  // read here, so that it is read only once
      if (woken == none || !may_pass(self, next)) [[unlikely]]
        return nullptr;
      store_in_order(next_slot_, none);
      replace(self, next, *woken);
      return woken;
    }
    fiber* next = self.next;
    if (next == &self) [[unlikely]]
      return nullptr;
    if (next == nullptr)
      __builtin_unreachable();
    if (budget_ != next_slot_budget) [[unlikely]]  // a read costs less than a store
      budget_ = next_slot_budget;
    fiber* const tail = tail_;
    store_in_order(current, next);
    store_in_order(tail->next, next);
    return next;
  }

  // Like try_pop_current_fast(), when the running fiber waits for the end of `child`, of the same worker. If
  // it has not begun, it runs next, past the others.
  SENNIT_INLINE fiber* try_pop_current_joining(fiber& self, fiber& child) {
    return self.next == &child || child.flags.status != fiber_status::begins
               ? try_pop_current_fast(self)
               : try_pop_current_to_new(self, child);
  }

  // Before a scheduler step, when the running fiber, `self`, waits for the end of `child`: if that one has
  // not begun, it goes to the next slot, whose budget lets the others run now and then.
  void bring_forward(const fiber& self, fiber& child) noexcept;

  // Like pop_current(), when the running fiber has woken another one that runs next.
  SENNIT_INLINE fiber* pop_current_to(fiber& self, fiber& woken) {
    fiber* const next = self.next;
    if (next_slot_ != nullptr || !may_pass(self, next)) [[unlikely]]
      return pop_current_to_slow(self, woken);
    replace(self, next, woken);
    return &woken;
  }

  // Direct wake: the running fiber, `self`, leaves the ring. `f`, which was not in it, takes its place and
  // runs. (self.next is not read behind the store through tail_, which may be to that place. While a store's
  // address is unknown, later loads overtake it, and are repeated if they should not have. Zen 4 learns which
  // loads should not, but only for two dozen of them.)
  SENNIT_INLINE void replace(fiber& self, fiber& f) { replace(self, self.next, f); }

  // The running fiber leaves the ring. No fiber runs then.
  void remove_running() {
    if (current->next == current)
      tail_ = nullptr;
    else
      tail_->next = current->next;
    current = nullptr;
  }

  // The running fiber, `self`, becomes the head of the ring: `f`, which was not in it, runs in front of it.
  SENNIT_INLINE void enter_before(fiber& self, fiber& f) {
    f.previous = &f;  // not known
    store_in_order(f.next, &self);
    store_in_order(tail_->next, &f);
    store_in_order(current, &f);
  }

  // Counts a poll after which the running fiber lets its child run, past the others. Returns false if these
  // are due.
  bool may_pass_once_more() noexcept {
    if (--budget_ >= 0)
      return true;
    budget_ = next_slot_budget;
    return false;
  }

  // The running fiber, `self`, leaves the ring. The one behind it runs.
  SENNIT_INLINE void leave(fiber& self) {
    fiber* const next = self.next;
    store_in_order(tail_->next, next);
    store_in_order(current, next);
  }

  // When no fiber runs: returns the next one, already current, or null if none is ready.
  SENNIT_INLINE fiber* next() {
    fiber* const woken = next_slot_;
    if (woken == none_ || !pass(*woken)) [[unlikely]]
      return next_slow();
    store_in_order(next_slot_, none_);
    store_in_order(current, woken);
    return woken;
  }
  // Like add_woken() and then next().
  SENNIT_INLINE fiber* next_after_waking(fiber& woken) {
    if (next_slot_ != nullptr || !pass(woken)) [[unlikely]] {
      add_woken(&woken);
      return next();
    }
    store_in_order(current, &woken);
    return &woken;
  }

  // No fiber runs any more. The running one becomes the tail.
  void put_back() { tail_ = std::exchange(current, nullptr); }

private:
  friend struct run_queue_layout;  // in capi

  SENNIT_INLINE void replace(fiber& self, fiber* next, fiber& f) {
    if (next == &self) [[likely]] {
      store_in_order(tail_, &f);
      next = &f;
    } else {
      store_in_order(tail_->next, &f);
    }
    store_in_order(current, &f);
    store_in_order(f.next, next);
  }

  // Returns whether a fiber outside of the ring may take the place of the running one, whose next is `next`.
  // It may not if it has passed waiting fibers too often.
  SENNIT_INLINE bool may_pass(const fiber& self, const fiber* next) {
    return next == &self || --budget_ >= 0;
  }

  // When no fiber runs: a fiber enters the ring in front of all others, if it may pass them.
  SENNIT_INLINE bool pass(fiber& woken) {
    if (fiber* const tail = tail_; tail == nullptr) {
      woken.next = &woken;
      store_in_order(tail_, &woken);
    } else {
      if (--budget_ < 0) [[unlikely]]
        return false;
      woken.next = std::exchange(tail->next, &woken);
    }
    return true;
  }

  // The ring's order is defined by its tail, running or not: the running fiber, or the head, follows it.
  SENNIT_INLINE void push_tail(fiber* f) {
    fiber* tail = tail_;
    if (tail == nullptr) [[unlikely]]
      tail = f->next = f;
    push_behind(tail, f);
  }
  SENNIT_INLINE void push_behind(fiber* tail, fiber* f) {
    f->previous = tail;  // for take_new()
    f->next = tail->next;
    tail->next = f;
    tail_ = f;
  }

  fiber* try_pop_current_to_new(fiber& self, fiber& child);
  bool take_new(const fiber& self, fiber& child);
  void push_head(fiber* f);
  bool next_slot_taken() const { return next_slot_ != none_; }
  void should_be_local() const noexcept;
  void displace_next_slot(fiber* f);
  void empty_next_slot();
  bool may_go_first();
  void begin_turns();
  void had_turn();
  fiber* rotate_slow();
  fiber* pop_current_slow(fiber& self);
  fiber* pop_current_to_slow(fiber& self, fiber& woken);
  fiber* next_slow();

  static fiber by_policy_;
  static fiber elsewhere_;

  fiber* tail_ = nullptr;
  fiber* next_slot_;  // the fiber that runs first, which is not in the ring; or none_
  fiber* none_;  // null for fifo; &by_policy_ for other policies, so that the next slot is never null, and
                 // one test detects all that is not plain; &elsewhere_ after refuse()
  int budget_ = next_slot_budget;  // how often the next slot's fiber may still pass the ring; at least once
                                   // if the policy is not fifo, which counts by itself
  run_policy policy_;
  std::uint8_t add_costs_;            // subtracted from adds_left_ for each use
  unsigned adds_left_ = hybrid_adds;  // hybrid: how many may still run first
  unsigned turns_ = 0;                // hybrid: after that, how many in the ring have run
  const fiber* last_ = nullptr;       // and the last one that must run
};

}  // namespace sennit::inline v0_1::detail
