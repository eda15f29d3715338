// Who runs next on a parallel worker whose policy is not fifo.
//
// Of hybrid (run_queue.hpp says what it is) the ring keeps the order: those that are to go first are its
// newest, and all others wait for their turn as the oldest. What has become ready since the last dispatch
// lies above them, in its order; it is only told apart here, at the next dispatch, so that nobody who makes a
// fiber ready need know the policy:
//
//   oldest  [ the turns ... | those in front (4 at most) | new ... ]  slot   newest
//
// A thief takes the oldest of all this. Then the counts are too high for a while: who was to go first goes
// first, and the next cycle begins later.
#include "parallel_work.hpp"

#include <algorithm>
#include <utility>

namespace sennit::detail {

namespace {

fiber* take_lifo(parallel_worker& w) noexcept {
  fiber* const woken = parallel_take_slot(w);
  return woken != nullptr ? woken : w.ring.pop_newest();
}

// The newest so many of the ring, the oldest of them first.
fiber_chain take_newest(parallel_worker& w, std::size_t count) noexcept {
  fiber_chain taken;
  for (; count != 0; --count) {
    fiber* const f = w.ring.pop_newest();
    if (f == nullptr)
      break;
    f->next = std::exchange(taken.first, f);
    ++taken.size;
  }
  return taken;
}

void put_back(parallel_worker& w, fiber_chain taken) noexcept {
  while (fiber* f = taken.pop())
    parallel_push(w, *f);
}

// Tells apart what is new: the first go to those in front, the others to the turns.
void admit(parallel_worker& w) noexcept {
  hybrid_turns& turns = w.turns;
  const auto fresh = std::min<std::size_t>(w.ring.end() - turns.known_end, w.ring.owned());
  const std::size_t in_front = std::min({fresh, turns.adds_left, hybrid_in_front - turns.in_front});
  turns.adds_left -= in_front;
  turns.in_front += in_front;
  if (fresh == in_front || turns.in_front == 0)
    return;
  const fiber_chain later = take_newest(w, fresh - in_front);
  const fiber_chain first = take_newest(w, turns.in_front);
  put_back(w, later);
  put_back(w, first);
}

fiber* take_hybrid(parallel_worker& w) noexcept {
  hybrid_turns& turns = w.turns;
  if (fiber* woken = w.ring.take_slot())
    parallel_push(w, *woken);
  admit(w);
  fiber* const next = turns.in_front != 0 ? w.ring.pop_newest() : w.ring.pop();
  if (turns.in_front != 0) {
    --turns.in_front;
  } else if (turns.first_left != 0) {
    --turns.first_left;
    ++turns.had_one;
  }
  if (next == nullptr)
    turns.in_front = turns.first_left = 0;
  if (turns.in_front == 0 && turns.first_left == 0) {
    turns.adds_left = std::max<std::size_t>(hybrid_adds, hybrid_adds_each * std::exchange(turns.had_one, 0));
    turns.first_left = w.ring.owned();
  }
  turns.known_end = w.ring.end();
  return next;
}

}  // namespace

fiber* parallel_take_by_policy(parallel_worker& w) noexcept {
  return w.policy == run_policy::lifo ? take_lifo(w) : take_hybrid(w);
}

}  // namespace sennit::detail
