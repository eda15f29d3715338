#include "sennit/detail/sched/idle_stacks.hpp"

#include <algorithm>
#include <utility>

#include "sennit/detail/sched/spawn.hpp"

namespace sennit::inline v0_1::detail {

fiber* idle_stacks::cut(fiber*& list) noexcept {
  fiber** end = &list;
  for (std::size_t count = 0; count != at_once && *end != nullptr; ++count)
    end = &(*end)->next;
  fiber* const rest = std::exchange(*end, nullptr);
  return std::exchange(list, rest);
}

std::size_t idle_stacks::destroy(fiber* list) noexcept {
  std::size_t count = 0;
  for (; list != nullptr; ++count) {
    fiber* const f = std::exchange(list, list->next);
    destroy_stack(*std::exchange(f->frame, nullptr));
    fiber_free(f);
  }
  return count;
}

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
  const std::size_t gone = idle_stacks::destroy(idle_stacks::cut(*last));
  state.made -= std::min(state.made, gone);
  looked = gone != idle_stacks::at_once;
  state.due = now + (looked ? idle_stacks::later : idle_stacks::soon);
  return looked ? until : std::min(until, state.due);
}

}  // namespace sennit::inline v0_1::detail
