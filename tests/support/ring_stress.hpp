// An owner of a work_ring and two thieves, as fast as they can: each item is taken once, none before its
// context is there. Runs until enough was stolen.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "sennit/detail/parallel/work_ring.hpp"

namespace support {

class ring_stress {
public:
  using item = std::uint32_t;
  sennit::detail::work_ring<item, 16> ring;

  // `step(next)` is the owner's, with the number of the next item; true: that is in the ring, or the next
  // slot. `steal(thief, take)`: how many it took.
  template <class Step, class Steal>
  void run(Step&& step, Steal&& steal) {
    std::vector<std::thread> thieves;
    for (int t = 0; t < 2; ++t)
      thieves.emplace_back([&, t] {
        while (!over_.load(std::memory_order_relaxed)) {
          const std::size_t count = steal(t, [this](item i) { take(i); });
          if (count != 0)
            stolen_.fetch_add(count, std::memory_order_relaxed);
          else
            std::this_thread::yield();
        }
      });
    const item end = own(step);
    over_ = true;
    for (std::thread& t : thieves)
      t.join();
    while (const item i = ring.pop())
      take(i);
    if (const item i = ring.take_next_slot())
      take(i);
    EXPECT_GE(stolen_.load(), enough);
    EXPECT_EQ(too_early_.load(), 0);
    for (item i = 1; i < end; ++i)
      ASSERT_EQ(taken_[i].load(), 1) << "of " << i;
    EXPECT_EQ(taken_[end].load(), 0);
  }

  void make_context(item i) { contexts_[i] = 1; }
  void take(item i) {
    too_early_.fetch_add(contexts_[i] == 1 ? 0 : 1, std::memory_order_relaxed);
    taken_[i].fetch_add(1, std::memory_order_relaxed);
  }
  void take_if(item i) {
    if (i != 0)
      take(i);
  }

private:
  static constexpr item at_least = 50'000;
  static constexpr item at_most = 4'000'000;
  static constexpr std::size_t enough = 200;

  template <class Step>
  item own(Step& step) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    item next = 1;
    while (next < at_most && (next < at_least || stolen_.load(std::memory_order_relaxed) < enough)) {
      if (step(next))
        ++next;
      if (next % 1024 == 0) {
        if (std::chrono::steady_clock::now() > deadline)
          break;
        if (next > at_least)
          std::this_thread::yield();  // there is one processor
      }
    }
    return next;
  }

  std::unique_ptr<std::atomic<std::uint8_t>[]> taken_{new std::atomic<std::uint8_t>[at_most + 1]()};
  std::unique_ptr<std::uint8_t[]> contexts_{new std::uint8_t[at_most + 1]()};
  std::atomic<int> too_early_{0};
  std::atomic<bool> over_{false};
  std::atomic<std::size_t> stolen_{0};
};

inline void steal_while_popping() {
  ring_stress s;
  s.run(
      [&](std::uint32_t next) {
        s.make_context(next);
        const bool pushed = s.ring.push(next);
        if (!pushed || next % 3 != 0)
          s.take_if(s.ring.pop());
        return pushed;
      },
      [&](int, auto take) { return s.ring.steal_half(take); });
}

inline void steal_while_popping_the_newest() {
  ring_stress s;
  s.run(
      [&](std::uint32_t next) {
        s.make_context(next);
        const bool pushed = s.ring.push(next);
        if (!pushed)
          s.take_if(s.ring.pop());
        if (next % 3 != 0)
          s.take_if(s.ring.pop_newest());
        return pushed;
      },
      [&](int t, auto take) { return t == 0 ? s.ring.steal_lone(take) : s.ring.steal_late(take); });
}

inline void steal_from_the_slot() {
  ring_stress s;
  s.run(
      [&](std::uint32_t next) {
        s.make_context(next);
        if (const auto displaced = s.ring.put_next_slot(next); displaced != 0 && !s.ring.push(displaced))
          s.take(displaced);
        if (next % 3 == 0)
          s.take_if(s.ring.pop());
        if (next % 2 == 0)
          s.take_if(s.ring.take_next_slot());
        return true;
      },
      [&](int, auto take) { return s.ring.steal_late(take); });
}

// As a fiber that yields does: pushed first, its context there after that.
inline void steal_while_leaving() {
  ring_stress s;
  s.run(
      [&](std::uint32_t next) {
        s.ring.mark_leaving(next);
        const bool pushed = s.ring.push(next);
        s.make_context(next);
        s.ring.clear_leaving();
        if (!pushed || next % 3 == 0)
          s.take_if(next % 2 == 0 ? s.ring.pop() : s.ring.pop_newest());
        return pushed;
      },
      [&](int t, auto take) { return t == 0 ? s.ring.steal_lone(take) : s.ring.steal_late(take); });
}

}  // namespace support
