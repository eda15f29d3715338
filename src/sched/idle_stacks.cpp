#include "sennit/detail/sched/idle_stacks.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "sennit/detail/sched/parallel.hpp"

namespace sennit::detail {

namespace {

// Takes up to at_once fibers off a list, and returns them.
fiber* cut(fiber*& list) noexcept {
  fiber** end = &list;
  for (std::size_t count = 0; count != idle_stacks::at_once && *end != nullptr; ++count)
    end = &(*end)->next;
  fiber* const rest = std::exchange(*end, nullptr);
  return std::exchange(list, rest);
}

std::size_t destroy(fiber* list) noexcept {
  std::size_t count = 0;
  for (; list != nullptr; ++count) {
    fiber* const f = std::exchange(list, list->next);
    frame_drop(*std::exchange(f->frame, nullptr));
    fiber_free(f);
  }
  return count;
}

}  // namespace

time_point trim_idle_stacks(worker& w, time_point until, bool& looked) noexcept {
  idle_stacks& state = w.idle_stacks;
  if (looked || state.made <= idle_stacks::most_idle)
    return until;
  const time_point now = clock::now();
  if (now < state.due)
    return std::min(until, state.due);
  fiber** last = &w.idle;
  for (std::size_t kept = 0; kept != idle_stacks::most_idle && *last != nullptr; ++kept)
    last = &(*last)->next;
  const std::size_t gone = destroy(cut(*last));
  state.made -= std::min(state.made, gone);
  looked = gone != idle_stacks::at_once;
  state.due = now + (looked ? idle_stacks::later : idle_stacks::soon);
  return looked ? until : std::min(until, state.due);
}

time_point trim_idle_stacks(parallel_runtime& of, time_point until) noexcept {
  idle_stacks& state = of.idle_stacks;
  std::unique_lock hold(of.spare_lock);
  if (of.spare == nullptr)
    return until;
  const time_point now = clock::now();
  if (now < state.due)
    return std::min(until, state.due);
  fiber* const gone = std::exchange(state.taken, false) ? nullptr : cut(of.spare);
  const time_point due = state.due = now + (gone == nullptr ? idle_stacks::later : idle_stacks::soon);
  hold.unlock();
  destroy(gone);
  return std::min(until, due);
}

}  // namespace sennit::detail
