// The machine that scenarios run on: its memory, and its scheduler of the threads under test. Tests include
// model.hpp, which describes the model.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "sennit/detail/arch/context.h"
#include "support/stack.hpp"
#include "view.hpp"

namespace model {

using order = std::memory_order;

enum class action : std::uint8_t {
  load,
  store,
  update,           // a read-modify-write, or a compare-exchange that succeeded
  failed_exchange,  // a compare-exchange that did not
  fence,
  light_fence,
  heavy_fence,
  pause,
  wait,
  signal,
};

// An operation in the source.
struct site {
  std::source_location where;
  action what;
  bool operator==(const site& other) const noexcept;
};

// An operation whose order is made weaker than it is written: a planted bug, without a line of it in the
// source.
struct weakening {
  site where;
  order written;
  order weaker;
};

// What is kept of a plain variable, to find races.
struct shadow {
  std::int16_t write_clock = 0;
  std::uint8_t writer = 0;
  std::array<std::int16_t, most_threads> read_clock{};
};

// Something in the kernel that threads sleep on until it is signalled: an eventfd, a futex.
struct gate_state {
  bool open = false;
  view published;
};

// How long a wait lasts at most: for ever; until no other thread can continue (time passes slowly); or it may
// end at any moment.
enum class patience : std::uint8_t { endless, long_enough, short_enough };

// Unwinds the host's part of a scenario once the execution has failed.
struct stopped {};

struct limits {
  unsigned bound = 2;          // preemptions: switches away from a thread that could have continued
  unsigned most_steps = 1000;  // of an execution; one that needs more is taken for a livelock
  const weakening* weaken = nullptr;
};

struct choice {
  std::uint16_t taken;
  std::uint16_t of;
};

struct event {
  std::uint8_t thread;
  action what;
  order how;
  std::uint8_t location;
  std::int16_t read;  // index in the location's modification order; -1: none
  std::int16_t written;
  std::uintptr_t read_value;
  std::uintptr_t written_value;
  std::source_location where;
};

struct order_at {
  site where;
  order written;
};

class machine {
public:
  using word = std::uintptr_t;
  static inline machine* now = nullptr;

  machine();

  // ---- For the search.
  void begin(const limits& given);
  bool next_path();  // false: all have been taken
  std::vector<choice> path;
  bool cut = false;  // the bound has kept us from something
  bool failed = false;
  std::string failure;
  unsigned steps = 0;
  std::vector<event> events;
  std::vector<order_at> orders;
  unsigned thread_count() const { return count_ - 1; }

  // ---- For scenarios.
  void add_thread(std::function<void()> body);
  void join();                                   // runs the threads; throws stopped
  unsigned running() const { return running_; }  // the number of the thread that runs

  unsigned add_location(word initial);
  void end_location(unsigned location) { ended_[location] = true; }  // its object is destroyed
  word load(unsigned location, order how, std::source_location where);
  void store(unsigned location, word value, order how, std::source_location where);
  template <class Change>
  word update(unsigned location, Change&& change, order how, std::source_location where);
  bool compare_exchange(unsigned location, word& expected, word desired, order success, order failure,
                        std::source_location where);
  void fence(order how, std::source_location where);
  void light_fence(std::source_location where);
  void heavy_fence(std::source_location where);
  void pause(std::source_location where);
  // False: its time has passed.
  bool wait(gate_state& gate, patience until, std::source_location where);
  void signal(gate_state& gate, std::source_location where);
  void read(shadow& s);
  void write(shadow& s);
  void check(bool holds, const char* what, std::source_location where);

private:
  struct message {
    word value;
    view published;
  };
  struct thread {
    enum class state : std::uint8_t { ready, paused, waiting, finished };
    sennit_context context = nullptr;
    std::function<void()> body;
    std::unique_ptr<support::stack> stack;
    view seen;
    view arriving;  // what relaxed loads have met, for an acquire fence
    view leaving;   // what relaxed stores publish, from a release fence
    state at = state::ready;
    std::uint32_t spun = 0;  // locations read since the last pause
    gate_state* awaited = nullptr;
    patience until = patience::endless;
    std::source_location stopped_at;
  };

  static void enter(sennit_context from, word self, word, word, word) noexcept;
  unsigned choose(std::size_t n);
  bool inert() const { return failed; }
  thread& self() { return threads_[running_]; }
  bool enabled(const thread& t) const;
  void point(std::source_location where);
  void touch(unsigned location, std::source_location where);  // and point()
  void pick(bool self_goes_on, bool free);
  void switch_to(unsigned next);
  order effective(action what, order how, std::source_location where);
  void observe(unsigned location, std::size_t index, order how);
  void append(unsigned location, word value, order how, const view* sequence);
  void note(const event& e) { events.push_back(e); }
  void fail(std::string what);
  void tick() { ++self().seen.clock(running_); }

  limits limits_;
  std::array<thread, most_threads> threads_;
  unsigned count_ = 1;
  unsigned running_ = 0;
  unsigned preemptions_ = 0;
  std::size_t position_ = 0;
  std::array<std::vector<message>, most_locations> memory_;
  std::array<bool, most_locations> ended_{};
  unsigned locations_ = 0;
  view sequential_;  // what seq_cst operations agree on
  view light_;       // the views of threads at their light fences
  view heavy_;       // before their heavy ones
};

template <class Change>
machine::word machine::update(unsigned location, Change&& change, order how, std::source_location where) {
  if (inert())
    return 0;
  touch(location, where);
  how = effective(action::update, how, where);
  const std::size_t last = memory_[location].size() - 1;
  const word before = memory_[location][last].value;
  const view sequence = memory_[location][last].published;
  observe(location, last, how);
  const word after = change(before);
  append(location, after, how, &sequence);
  note({static_cast<std::uint8_t>(running_), action::update, how, static_cast<std::uint8_t>(location),
        static_cast<std::int16_t>(last), static_cast<std::int16_t>(last + 1), before, after, where});
  tick();
  return before;
}

}  // namespace model
