// The parked fibers that have a deadline, earliest first: a heap whose places the descriptors know, so that a
// fiber that is woken before its deadline leaves from the middle.
#pragma once

#include <cstddef>
#include <vector>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

class timers {
public:
  // Makes room for this many fibers, so that adding cannot fail. Throws std::bad_alloc.
  void reserve(std::size_t fibers) {
    if (fibers > heap_.capacity()) [[unlikely]]
      heap_.reserve(2 * fibers);
  }
  time_point earliest() const { return heap_.empty() ? never : heap_.front().when; }

  void add(fiber* f, time_point when) noexcept;
  void remove(fiber* f) noexcept;
  // The earliest fiber, taken out, if its time has come; else null.
  fiber* take_due(time_point now) noexcept;

private:
  struct entry {
    time_point when;
    fiber* who;
  };
  void place(std::size_t index, entry item) noexcept {
    heap_[index] = item;
    item.who->timer = static_cast<std::uint32_t>(index);
  }
  void up(std::size_t index, entry item) noexcept;
  void down(std::size_t index, entry item) noexcept;

  std::vector<entry> heap_;
};

}  // namespace sennit::detail
