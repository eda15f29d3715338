// A side of a source: its user, drivers that report events, deadlines, and the closer.
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "model.hpp"
#include "sennit/detail/io/side.hpp"
#include "sennit/detail/sched/claim.hpp"
#include "sennit/detail/wait/slot.hpp"

namespace {

using sennit::detail::claim_result;
using sennit::detail::claim_state;
using sennit::detail::slot_enter;
using sennit::detail::slot_leave;

using side = sennit::detail::basic_io_side<model::memory>;
using uses = sennit::detail::basic_io_uses<model::memory>;

enum class plants {
  nothing,
  notes_after,       // the word's value after the attempt
  looks_not,         // whether it is closed, before it waits
  keeps_seen,        // when the deadline has come first
  leaves_too_soon,   // while the waker of its wait holds its node
  closes_at_once,    // and not when the last operation ends
  shares,            // two read at the same time
  releases_at_once,  // while another thread reads
};

// A wait, as multi_wait and end_slot_wait have it.
struct node {
  sennit::detail::basic_claim<model::memory> claim;
  model::gate ready;
  model::atomic<bool> released{false};
  model::plain<int> memory{0};  // the waiter; then the word that it is woken with; then later contents

  void end_by(claim_state how) {
    if (claim.take(how) == claim_result::won)
      ready.signal();
  }
  void end_by_event() {
    MODEL_CHECK(memory == 1);
    memory = 2;
    const claim_result result = claim.take(claim_state::taken);
    if (result == claim_result::won)
      ready.signal();
    else if (result == claim_result::lost)
      released.store(true, std::memory_order_release);
  }
};

// The source, and its file descriptor: `data` has been sent to it.
struct source {
  side reading;
  uses counted;
  model::atomic<int> data{0};
  model::plain<bool> open{true};
  model::plain<int> closed{0};
  model::plain<int> given{0};
  node nodes[4];
  plants plant;

  explicit source(plants p) : plant(p) {}

  static std::uintptr_t word_of(unsigned wait) { return 4 * (wait + 1); }

  void event() {
    const std::uintptr_t was = reading.record_event([](std::uintptr_t) { return false; });
    if (was % 2 == 0)
      nodes[was / 4 - 1].end_by_event();
  }
  void send() {
    data.fetch_add(1, std::memory_order_relaxed);
    event();
  }

  // True: in time.
  bool wait(unsigned number, std::uintptr_t seen) {
    MODEL_CHECK(number < std::size(nodes));
    node& mine = nodes[number];
    mine.memory = 1;
    if (!slot_enter(reading.word, seen, word_of(number)))
      return true;
    if (mine.claim.park())
      mine.ready.wait();
    bool in_time = mine.claim.state() == claim_state::taken;
    if (!in_time) {
      in_time = !slot_leave(reading.word, side::first, word_of(number));
      if (in_time && plant != plants::leaves_too_soon)
        while (!mine.released.load(std::memory_order_acquire))
          model::memory::yield_thread();
    }
    mine.memory = 3;
    return in_time;
  }

  // As io_step: reads until so much has come, or the source is closed. The first of its nodes is `waits`.
  // (The order that the kernel's own locks add is left out.)
  void read(int goal, unsigned waits = 0) {
    for (;;) {
      const std::uintptr_t events = reading.look();
      if (events != reading.last_seen_event) {
        MODEL_CHECK(open);
        if (data.load(std::memory_order_relaxed) >= goal)
          return;
        reading.last_seen_event = plant == plants::notes_after ? reading.look() : events;
      }
      if (plant != plants::looks_not && counted.is_closed())
        return;
      const std::uintptr_t seen = reading.last_seen_event;
      if (plant != plants::keeps_seen)
        reading.last_seen_event = 0;
      wait(waits++, seen);
      if (counted.is_closed())
        return;
    }
  }

  void close_descriptor() {
    MODEL_CHECK(given == 0);
    if (!open)
      return;
    open = false;
    closed = closed + 1;
  }
  void end(std::uint32_t what = uses::other) {
    if (!counted.end(what, true))
      counted.end_last(what, true, [&] { close_descriptor(); }, [&] { given = given + 1; });
  }
  // The caller closes what it gets at once.
  void release() {
    if (counted.begin_end(uses::closed, true)) {
      event();
      while (plant != plants::releases_at_once && !counted.is_only())
        model::memory::yield_thread();
      close_descriptor();
    }
    end();
  }
  void close(std::uint32_t how) {
    const bool begun = counted.begin_end(how, true);
    if (begun)
      event();
    if (begun && plant == plants::closes_at_once)
      close_descriptor();
    end();
  }
};

auto release_while_read(plants plant) {
  return [=](model::run& run) {
    source s(plant);
    MODEL_CHECK(s.counted.begin(uses::reading, true) == 0);
    run.thread([&] {
      s.read(1);
      s.end(uses::reading);
    });
    run.thread([&] { s.send(); });
    run.thread([&] { s.release(); });
    run.join();
    MODEL_CHECK(s.closed == 1 && s.given == 0);
  };
}

auto told_by(std::initializer_list<int> drivers, plants plant) {
  return [drivers = std::vector<int>(drivers), plant](model::run& run) {
    source s(plant);
    int sent = 0;
    for (const int times : drivers) {
      run.thread([&s, times] {
        for (int i = 0; i < times; ++i)
          s.send();
      });
      sent += times;
    }
    run.thread([&s, sent] { s.read(sent); });
    run.join();
  };
}

// The first wait's deadline passes at any time.
auto told_and_late(plants plant) {
  return [=](model::run& run) {
    source s(plant);
    run.thread([&] { s.send(); });
    run.thread([&] { s.nodes[0].end_by(claim_state::timed_out); });
    run.thread([&] { s.read(1); });
    run.join();
  };
}

// The last one closes the descriptor, once, while no thread uses it; the reader does not wait any more.
auto closed_by(unsigned drivers, plants plant) {
  return [=](model::run& run) {
    source s(plant);
    MODEL_CHECK(s.counted.begin(uses::reading, true) == 0);
    for (unsigned i = 0; i < drivers; ++i)
      run.thread([&] { s.event(); });
    run.thread([&] {
      s.read(1);
      s.end(uses::reading);
    });
    run.thread([&] { s.close(uses::closed | uses::abandoned); });
    run.join();
    MODEL_CHECK(s.closed == 1 && s.given == 1 && !s.open);
  };
}

// Two close it, and one is about to use it.
auto closed_twice(plants plant) {
  return [=](model::run& run) {
    source s(plant);
    run.thread([&] {
      if (s.counted.begin(uses::writing, true) != 0)
        return;
      MODEL_CHECK(s.open);
      s.end(uses::writing);
    });
    for (int i = 0; i < 2; ++i)
      run.thread([&] { s.close(uses::closed); });
    run.join();
    MODEL_CHECK(s.closed == 1 && !s.open);
    s.close(uses::closed | uses::abandoned);
    MODEL_CHECK(s.closed == 1 && s.given == 1);
  };
}

// Two read, one after the other: one that comes in between is refused, and has touched nothing.
auto read_by_two(plants plant) {
  return [=](model::run& run) {
    source s(plant);
    const std::uint32_t what = plant == plants::shares ? uses::other : uses::reading;
    model::atomic<int> refused{0};
    for (unsigned reader = 0; reader < 2; ++reader)
      run.thread([&, reader] {
        if (s.counted.begin(what, true) != 0) {
          refused.fetch_add(1, std::memory_order_relaxed);
          return;
        }
        s.read(1, 2 * reader);
        s.end(what);
      });
    run.thread([&] { s.send(); });
    run.join();
    MODEL_CHECK(refused.load(std::memory_order_relaxed) < 2);
    s.close(uses::closed | uses::abandoned);
    MODEL_CHECK(s.closed == 1 && s.given == 1);
  };
}

void expect_sound(const char* name, const model::scenario& what) {
  const model::report r = model::explore(name, {}, what);
  EXPECT_FALSE(r.failed) << r;
}

std::string failure_of(const char* name, const model::scenario& what) {
  const model::report r = model::explore(name, {}, what);
  EXPECT_TRUE(r.failed);
  return r.failure;
}

TEST(io, no_event_is_lost) {
  expect_sound("side, 1 driver", told_by({2}, plants::nothing));
  expect_sound("side, 2 drivers", told_by({1, 1}, plants::nothing));
  expect_sound("side, a deadline", told_and_late(plants::nothing));
}

TEST(io, who_waits_learns_of_a_close) {
  expect_sound("side, closed", closed_by(0, plants::nothing));
  expect_sound("side, closed and told", closed_by(1, plants::nothing));
}

TEST(io, a_descriptor_is_closed_once_when_nobody_uses_it) {
  expect_sound("uses, closed twice", closed_twice(plants::nothing));
}

TEST(io, one_of_two_readers_is_refused) {
  expect_sound("uses, 2 readers", read_by_two(plants::nothing));
}

TEST(io, a_released_descriptor_is_used_by_no_operation) {
  expect_sound("uses, released", release_while_read(plants::nothing));
}

TEST(io, a_release_that_does_not_wait_is_found) {
  failure_of("uses, released at once", release_while_read(plants::releases_at_once));
}

TEST(io, two_readers_at_once_are_found) {
  failure_of("uses, 2 readers at once", read_by_two(plants::shares));
}

TEST(io, a_lost_event_is_found) {
  EXPECT_TRUE(failure_of("side, noted after", told_by({1}, plants::notes_after)).starts_with("deadlock"));
  EXPECT_TRUE(failure_of("side, seen kept", told_and_late(plants::keeps_seen)).starts_with("deadlock"));
}

TEST(io, a_lost_close_is_found) {
  EXPECT_TRUE(failure_of("side, no look", closed_by(0, plants::looks_not)).starts_with("deadlock"));
}

TEST(io, a_node_left_too_soon_is_found) {
  failure_of("side, left too soon", told_and_late(plants::leaves_too_soon));
}

TEST(io, a_close_that_does_not_count_is_found) {
  failure_of("uses, closed at once", closed_by(0, plants::closes_at_once));
  failure_of("uses, closed at once, twice", closed_twice(plants::closes_at_once));
}

using strings = std::vector<std::string>;

strings survivors(const char* name, const char* file, const model::scenario& what) {
  const model::weakened w = model::weaken_each(name, file, {}, what);
  EXPECT_FALSE(w.correct.failed) << w.correct;
  return w.survivors;
}

TEST(io, each_order_of_a_side_matters) {
  // is_closed(): no thread closes here.
  EXPECT_EQ(survivors("side, 2 drivers", "side.hpp", told_by({1, 1}, plants::nothing)),
            (strings{"load: acquire -> relaxed"}));
}

TEST(io, each_order_of_the_uses_matters) {
  // Its beginning acquires for an operation that follows another one, as below. The load that sees whether it
  // is closed follows that of the side's word.
  EXPECT_EQ(survivors("side, closed", "side.hpp", closed_by(0, plants::nothing)),
            (strings{"update: acq_rel -> release", "load: acquire -> relaxed"}));
  // Here no thread closes while others run.
  EXPECT_EQ(survivors("uses, 2 readers", "side.hpp", read_by_two(plants::nothing)),
            (strings{"failed exchange: acquire -> relaxed", "load: acquire -> relaxed",
                     "load: acquire -> relaxed"}));
}

TEST(io, orders_of_a_slot) {
  // A fiber's end is waited for in such a word too, and there is nothing else then that acquires.
  EXPECT_EQ(survivors("side, a deadline", "slot.hpp", told_and_late(plants::nothing)),
            (strings{"update: acq_rel -> release", "failed exchange: acquire -> relaxed",
                     "update: acq_rel -> acquire", "update: acq_rel -> release",
                     "failed exchange: acquire -> relaxed"}));
}

}  // namespace
