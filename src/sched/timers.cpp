// The heap of deadlines.
#include "sennit/detail/sched/timers.hpp"

namespace sennit::detail {

namespace {
constexpr std::size_t arity = 4;
}

void timers::up(std::size_t index, entry item) noexcept {
  while (index > 0) {
    const std::size_t parent = (index - 1) / arity;
    if (heap_[parent].when <= item.when)
      break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, item);
}

void timers::down(std::size_t index, entry item) noexcept {
  for (;;) {
    std::size_t least = index * arity + 1;
    if (least >= heap_.size())
      break;
    const std::size_t end = std::min(least + arity, heap_.size());
    for (std::size_t child = least + 1; child < end; ++child)
      if (heap_[child].when < heap_[least].when)
        least = child;
    if (item.when <= heap_[least].when)
      break;
    place(index, heap_[least]);
    index = least;
  }
  place(index, item);
}

void timers::add(fiber* f, time_point when) noexcept {
  heap_.push_back({when, f});
  up(heap_.size() - 1, heap_.back());
}

void timers::remove(fiber* f) noexcept {
  const std::size_t index = f->timer;
  f->timer = no_timer;
  const entry last = heap_.back();
  heap_.pop_back();
  if (index == heap_.size())
    return;
  if (index > 0 && last.when < heap_[(index - 1) / arity].when)
    up(index, last);
  else
    down(index, last);
}

fiber* timers::take_due(time_point now) noexcept {
  if (heap_.empty() || heap_.front().when > now)
    return nullptr;
  fiber* f = heap_.front().who;
  remove(f);
  return f;
}

}  // namespace sennit::detail
