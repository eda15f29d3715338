// The wheel of deadlines: its edges, one by one, and many deadlines.
#include "sennit/detail/timer/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "timer_wheels.hpp"

namespace timer_wheel_test {
namespace {

constexpr nanoseconds one_tick{std::int64_t{1} << timer_wheel::tick_bits};
constexpr time_point boot{};

#if defined(SUPPORT_EMULATED)  // what a loop costs is no matter there
constexpr std::size_t million = 50'000;
#else
constexpr std::size_t million = 1'000'000;
#endif

// How often one who sleeps until earliest() finds nothing, until it finds something.
int in_vain(timer_wheel& wheel, timer_node*& found) {
  for (int times = 0;; ++times) {
    const time_point now = wheel.earliest();
    found = wheel.take_due(now);
    if (found != nullptr)
      return times;
    if (wheel.earliest() <= now) {
      ADD_FAILURE() << "it would spin";
      return times;
    }
  }
}

TEST(timer_wheel, is_empty_at_first) {
  timer_wheel wheel(start);
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.size(), 0U);
  EXPECT_EQ(wheel.earliest(), never);
  EXPECT_EQ(wheel.take_due(start), nullptr);
  EXPECT_EQ(wheel.take_due(never), nullptr);
  EXPECT_EQ(wheel.earliest(), never);
}

TEST(timer_wheel, a_node_knows_whether_it_is_linked) {
  timer_wheel wheel(start);
  timer_node n;
  EXPECT_FALSE(n.linked());
  wheel.remove(n);
  EXPECT_EQ(wheel.size(), 0U);
  for (int round = 0; round < 3; ++round) {
    wheel.add(n, start + 1ms);
    EXPECT_TRUE(n.linked());
    EXPECT_EQ(wheel.size(), 1U);
    wheel.remove(n);
    wheel.remove(n);
    EXPECT_FALSE(n.linked());
    EXPECT_TRUE(wheel.empty());
    EXPECT_EQ(wheel.earliest(), never);
  }
  wheel.add(n, start + 1ms);
  EXPECT_EQ(wheel.take_due(start + 1ms), &n);
  EXPECT_FALSE(n.linked());
  wheel.remove(n);
  EXPECT_TRUE(wheel.empty());
}

TEST(timer_wheel, nanoseconds_count_within_a_tick) {
  timer_wheel wheel(start);
  const time_point first{(start.time_since_epoch() / one_tick + 3) * one_tick};
  timer_node nodes[4];
  const nanoseconds after[4] = {1ns, one_tick - 1ns, 0ns, 2ns};
  for (int i = 0; i < 4; ++i)
    wheel.add(nodes[i], first + after[i]);
  for (const int i : {2, 0, 3, 1}) {
    const time_point when = first + after[i];
    EXPECT_EQ(wheel.earliest(), when);
    EXPECT_EQ(wheel.take_due(when - 1ns), nullptr);
    EXPECT_EQ(wheel.earliest(), when);
    EXPECT_EQ(wheel.take_due(when), &nodes[i]);
    EXPECT_EQ(wheel.take_due(when), nullptr);
  }
  EXPECT_TRUE(wheel.empty());
}

void expect_on_time(time_point position, time_point when) {
  when = std::min(when, never - 1ns);
  timer_wheel wheel(position);
  timer_node before;
  timer_node n;
  timer_node after;
  wheel.add(after, when + 1ns);
  wheel.add(n, when);
  wheel.add(before, when - 1ns);
  EXPECT_EQ(wheel.earliest(), when - 1ns);
  EXPECT_EQ(wheel.take_due(when - 2ns), nullptr);
  EXPECT_EQ(wheel.take_due(when - 1ns), &before);
  EXPECT_EQ(wheel.take_due(when - 1ns), nullptr);
  EXPECT_EQ(wheel.earliest(), when);
  EXPECT_EQ(wheel.take_due(when), &n);
  EXPECT_EQ(wheel.take_due(when), nullptr);
  EXPECT_EQ(wheel.earliest(), when + 1ns);
  EXPECT_EQ(wheel.take_due(when + 1ns), &after);
}

TEST(timer_wheel, is_exact_at_every_levels_edge) {
  for (const time_point position : {boot - 100h, boot, boot + 1ns, start, time_point::min()})
    for (unsigned bit = 2; bit < 63; ++bit) {
      const nanoseconds distance{std::int64_t{1} << bit};
      for (const nanoseconds off : {-1ns, 0ns, 1ns}) {
        expect_on_time(position, later(position, distance + off));
        // The same from the last moment before that edge.
        const time_point edge{nanoseconds(position.time_since_epoch().count() & -distance.count())};
        if (edge > time_point::min())
          expect_on_time(edge - 1ns, edge + 3ns + off);
      }
    }
}

TEST(timer_wheel, sleeping_until_the_earliest_wakes_up_once_in_vain_at_most) {
  for (unsigned bit = 0; bit < 62; ++bit) {
    timer_wheel wheel(start);
    std::vector<timer_node> nodes(100);
    const time_point when = later(start, nanoseconds(std::int64_t{1} << bit)) - 1us;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      wheel.add(nodes[i], when + nanoseconds(7 * i));
    wheel.remove(nodes[0]);
    EXPECT_LE(wheel.earliest(), nodes[1].when);
    timer_node* found = nullptr;
    EXPECT_LE(in_vain(wheel, found), 1) << bit;
    EXPECT_EQ(found, &nodes[1]);
  }
}

TEST(timer_wheel, one_that_is_alone_wakes_up_nobody_in_vain) {
  for (unsigned bit = 0; bit < 62; ++bit) {
    timer_wheel wheel(start);
    timer_node nodes[2];
    wheel.add(nodes[0], start);
    wheel.add(nodes[1], later(start, nanoseconds(std::int64_t{1} << bit)));
    wheel.remove(nodes[0]);
    EXPECT_EQ(wheel.earliest(), nodes[1].when);
    timer_node* found = nullptr;
    EXPECT_EQ(in_vain(wheel, found), 0);
    EXPECT_EQ(found, &nodes[1]);
  }
}

TEST(timer_wheel, the_past_is_due_at_once_and_the_far_future_is_not) {
  timer_wheel wheel(start);
  timer_node past[3];
  timer_node future[3];
  const time_point whens[3] = {time_point::min(), start - 1000h, start - 1ns};
  const time_point far[3] = {start + 24h * 365 * 250, never - 1ns, never};
  for (int i = 0; i < 3; ++i) {
    wheel.add(future[i], far[i]);
    wheel.add(past[i], whens[i]);
  }
  EXPECT_EQ(wheel.earliest(), time_point::min());
  for (int i = 0; i < 3; ++i) {
    timer_node* n = wheel.take_due(start);
    EXPECT_TRUE(std::any_of(past, past + 3, [&](const timer_node& p) { return n == &p; }));
  }
  EXPECT_EQ(wheel.take_due(start), nullptr);
  EXPECT_EQ(wheel.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(wheel.earliest(), far[i]);
    EXPECT_EQ(wheel.take_due(far[i] - 1ns), nullptr);
    EXPECT_EQ(wheel.take_due(far[i]), &future[i]);
  }
}

TEST(timer_wheel, the_past_neither_overtakes_nor_is_overtaken) {
  timer_wheel wheel(start);
  timer_node nodes[4];
  wheel.add(nodes[0], start + 1ms);
  wheel.add(nodes[1], start + 3ms);
  EXPECT_EQ(wheel.take_due(start + 2ms), &nodes[0]);
  wheel.add(nodes[2], time_point::min());
  wheel.add(nodes[3], start + 2ms);
  EXPECT_EQ(wheel.take_due(start + 5ms), &nodes[2]);
  EXPECT_EQ(wheel.take_due(start + 5ms), &nodes[3]);
  EXPECT_EQ(wheel.take_due(start + 5ms), &nodes[1]);
}

TEST(timer_wheel, an_older_clock_reading_fires_nothing_early) {
  timer_wheel wheel(start);
  timer_node far;
  timer_node n;
  wheel.add(far, start + 2h);
  EXPECT_EQ(wheel.take_due(start + 1h), nullptr);
  wheel.add(n, start + 30min);
  EXPECT_EQ(wheel.take_due(start + 30min - 1ns), nullptr);
  EXPECT_EQ(wheel.earliest(), start + 30min);
  EXPECT_EQ(wheel.take_due(start + 30min), &n);
  EXPECT_EQ(wheel.take_due(start + 30min), nullptr);
  EXPECT_EQ(wheel.take_due(start + 2h), &far);
}

TEST(timer_wheel, is_left_from_any_place) {
  // One tick holds them all; so the first take finds them all due, and leaves four in that state.
  const time_point when{(start.time_since_epoch() / one_tick + 100) * one_tick};
  for (const time_point now : {when + 4ns, when + 1h})
    for (int taken = 0; taken < 5; ++taken)
      for (int removed = 0; removed < 5; ++removed) {
        timer_wheel wheel(start);
        timer_node nodes[5];
        for (int i = 0; i < 5; ++i)
          wheel.add(nodes[i], when + nanoseconds(i));
        for (int i = 0; i < taken; ++i)
          EXPECT_EQ(wheel.take_due(now), &nodes[i]);
        wheel.remove(nodes[removed]);
        for (int i = taken; i < 5; ++i) {
          if (i != removed) {
            EXPECT_EQ(wheel.take_due(now), &nodes[i]);
          }
        }
        EXPECT_TRUE(wheel.empty());
        EXPECT_EQ(wheel.earliest(), never);
        EXPECT_EQ(wheel.take_due(now), nullptr);
      }
}

TEST(timer_wheel, the_earliest_follows_removals) {
  for (unsigned bit = 6; bit < 62; ++bit) {
    timer_wheel wheel(start);
    timer_node nodes[4];
    const time_point whens[4] = {start, start + 1ns, later(start, nanoseconds(std::int64_t{1} << bit)),
                                 never};
    for (int i = 3; i >= 0; --i)
      wheel.add(nodes[i], whens[i]);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(wheel.earliest(), whens[i]);
      wheel.remove(nodes[i]);
    }
    EXPECT_EQ(wheel.earliest(), never);
  }
}

TEST(timer_wheel, the_earliest_is_not_of_a_slot_that_has_emptied) {
  timer_wheel wheel(start);
  std::vector<timer_node> nodes(100);
  timer_node other;
  wheel.add(other, start + 1h);
  for (timer_node& n : nodes)
    wheel.add(n, start + 1s + nanoseconds(&n - nodes.data()));
  for (timer_node& n : nodes) {
    EXPECT_LE(wheel.earliest(), n.when);
    EXPECT_GT(wheel.earliest(), start);
    wheel.remove(n);
  }
  EXPECT_EQ(wheel.earliest(), other.when);
}

// Time-outs that all last the same and are cancelled, the oldest first. Were the earliest looked for among
// them all each time, the test would not end in time.
TEST(timer_wheel, cancelling_a_million_is_quick) {
  constexpr std::size_t many = million;
  const auto nodes = std::make_unique<timer_node[]>(many);
  for (const nanoseconds apart : {0ns, 1ns, 100ns, 20000ns}) {
    timer_wheel wheel(start);
    for (std::size_t i = 0; i < many; ++i)
      wheel.add(nodes[i], start + 30s + i * apart);
    EXPECT_EQ(wheel.size(), many);
    std::size_t late = 0;
    for (std::size_t i = 0; i < many; ++i) {
      late += wheel.earliest() > nodes[i].when || wheel.earliest() <= start;
      wheel.remove(nodes[i]);
    }
    EXPECT_EQ(late, 0U);
    EXPECT_TRUE(wheel.empty());
  }
}

TEST(timer_wheel, cancelling_a_million_at_the_last_moment_is_quick) {
  constexpr std::size_t many = million;
  const auto nodes = std::make_unique<timer_node[]>(many);
  timer_wheel wheel(start);
  for (std::size_t i = 0; i < many; ++i)
    wheel.add(nodes[i], start + 1ns);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < many; ++i) {
    wrong += wheel.earliest() != start + 1ns;
    wheel.remove(nodes[i]);
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(wheel.earliest(), never);
}

TEST(timer_wheel, a_million_come_in_order) {
  constexpr std::size_t many = million;
  const auto nodes = std::make_unique<timer_node[]>(many);
  std::mt19937_64 random(1);
  timer_wheel wheel(start);
  for (std::size_t i = 0; i < many; ++i)
    wheel.add(nodes[i], start + nanoseconds(random() % 10'000'000'000'000));
  std::size_t taken = 0;
  std::size_t wrong = 0;
  std::int64_t last = 0;
  for (time_point now = start; !wheel.empty(); now += nanoseconds(random() % 40'000'000'000)) {
    while (timer_node* n = wheel.take_due(now)) {
      wrong += n->when > now || tick_of(n->when) < last;
      last = tick_of(n->when);
      ++taken;
    }
    wrong += wheel.earliest() <= now;
  }
  EXPECT_EQ(taken, many);
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace timer_wheel_test
