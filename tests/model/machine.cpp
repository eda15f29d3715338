// The machine: model.hpp describes its model.
#include "machine.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace model {

namespace {

bool acquires(order o) {
  return o == order::acquire || o == order::consume || o == order::acq_rel || o == order::seq_cst;
}
bool releases(order o) {
  return o == order::release || o == order::acq_rel || o == order::seq_cst;
}

// A mistake in a scenario, not in the code under test.
[[noreturn]] void misuse(const char* what) {
  std::fprintf(stderr, "model: %s\n", what);
  std::abort();
}

}  // namespace

bool site::operator==(const site& other) const noexcept {
  return where.line() == other.where.line() && where.column() == other.where.column() && what == other.what &&
         std::strcmp(where.file_name(), other.where.file_name()) == 0;
}

machine::machine() {
  for (thread& t : threads_)
    t.stack = std::make_unique<support::stack>();
}

void machine::begin(const limits& given) {
  limits_ = given;
  for (thread& t : threads_) {
    t.seen = t.arriving = t.leaving = view();
    t.at = thread::state::ready;
    t.spun = 0;
    t.awaited = nullptr;
  }
  count_ = 1;
  running_ = 0;
  preemptions_ = 0;
  position_ = 0;
  for (unsigned l = 0; l < locations_; ++l)
    memory_[l].clear();
  locations_ = 0;
  sequential_ = light_ = heavy_ = view();
  failed = false;
  failure.clear();
  steps = 0;
  events.clear();
  threads_[0].seen.clock(0) = 1;
}

bool machine::next_path() {
  while (!path.empty() && path.back().taken + 1 == path.back().of)
    path.pop_back();
  if (path.empty())
    return false;
  ++path.back().taken;
  return true;
}

unsigned machine::choose(std::size_t n) {
  if (n == 1)
    return 0;
  if (position_ == path.size())
    path.push_back({0, static_cast<std::uint16_t>(n)});
  const choice& c = path[position_++];
  if (c.of != n)
    misuse("a scenario did not do the same when it was run again");
  return c.taken;
}

// ---- Threads.

void machine::add_thread(std::function<void()> body) {
  if (count_ == most_threads)
    misuse("a scenario has too many threads");
  thread& t = threads_[count_];
  t.body = std::move(body);
  t.seen = threads_[0].seen;
  t.leaving = view();
  t.seen.clock(count_) = 1;
  t.context = sennit_newstack(t.stack->top(), enter);
  ++count_;
  tick();
}

void machine::enter(sennit_context, word argument, word, word, word) noexcept {
  auto& m = *reinterpret_cast<machine*>(argument);
  m.self().body();
  m.self().at = thread::state::finished;
  m.pick(false, true);
  misuse("a thread that has finished was resumed");
}

void machine::join() {
  if (!failed && count_ > 1) {
    threads_[0].at = thread::state::finished;  // not to be picked before the others are
    pick(false, true);
    threads_[0].at = thread::state::ready;
  }
  if (failed)
    throw stopped();
  for (unsigned t = 1; t < count_; ++t)
    threads_[0].seen.join(threads_[t].seen);
}

bool machine::enabled(const thread& t) const {
  switch (t.at) {
    case thread::state::ready:
      return true;
    case thread::state::finished:
      return false;
    case thread::state::waiting:
      return t.awaited->open || t.until == patience::short_enough;
    case thread::state::paused:
      for (std::uint32_t spun = t.spun; spun != 0; spun &= spun - 1) {
        const auto l = static_cast<unsigned>(__builtin_ctz(spun));
        if (static_cast<std::size_t>(t.seen.location(l)) + 1 < memory_[l].size())
          return true;
      }
      return false;
  }
  return false;
}

// Picks the next thread. To leave a thread that could continue is a preemption, unless it gives way by
// itself.
void machine::pick(bool self_goes_on, bool free) {
  std::array<unsigned, most_threads> who;
  std::size_t n = 0;
  if (self_goes_on)
    who[n++] = running_;
  const bool may_switch = free || !self_goes_on || preemptions_ < limits_.bound;
  unsigned unfinished = self_goes_on ? 1 : 0;
  for (unsigned t = 1; t < count_; ++t) {
    unfinished += threads_[t].at != thread::state::finished ? 1 : 0;
    if ((t == running_ && self_goes_on) || !enabled(threads_[t]))
      continue;
    if (may_switch)
      who[n++] = t;
    else
      cut = true;
  }
  if (unfinished == 0)
    return switch_to(0);
  for (unsigned t = 1; n == 0 && t < count_; ++t)
    if (threads_[t].at == thread::state::waiting && threads_[t].until == patience::long_enough)
      who[n++] = t;
  if (n == 0) {
    std::string what = "deadlock:";
    for (unsigned t = 1; t < count_; ++t) {
      if (threads_[t].at == thread::state::finished)
        continue;
      const char* file = std::strrchr(threads_[t].stopped_at.file_name(), '/');
      what += " thread " + std::to_string(t) +
              (threads_[t].at == thread::state::paused ? " spins at " : " waits at ") +
              (file != nullptr ? file + 1 : threads_[t].stopped_at.file_name()) + ":" +
              std::to_string(threads_[t].stopped_at.line());
    }
    return fail(what);
  }
  const unsigned chosen = who[choose(n)];
  if (self_goes_on && !free && chosen != running_)
    ++preemptions_;
  switch_to(chosen);
}

[[gnu::noinline]] void machine::switch_to(unsigned next) {
  if (next == running_)
    return;
  thread& from = threads_[running_];
  running_ = next;
  sennit_swapstack_saving(threads_[next].context, reinterpret_cast<word>(this), &from.context);
}

// On a thread's stack it does not return: the stack's contents are dropped. The host gets an exception.
void machine::fail(std::string what) {
  failed = true;
  failure = std::move(what);
  if (running_ == 0)
    throw stopped();
  what = std::string();
  running_ = 0;
  sennit_leave(threads_[0].context, 0);
}

// Before each operation another thread may come.
void machine::point(std::source_location where) {
  self().stopped_at = where;
  if (running_ == 0)
    return;
  if (++steps > limits_.most_steps)
    fail("livelock: more than " + std::to_string(limits_.most_steps) + " steps");
  pick(true, false);
}

void machine::touch(unsigned location, std::source_location where) {
  point(where);
  if (ended_[location])
    fail("thread " + std::to_string(running_) + " uses an atomic that was destroyed, line " +
         std::to_string(where.line()));
}

void machine::pause(std::source_location where) {
  if (inert())
    return;
  point(where);
  thread& t = self();
  if (running_ == 0)
    return fail("the host waits for threads that have ended");
  note({static_cast<std::uint8_t>(running_), action::pause, order::relaxed, 0, -1, -1, 0, 0, where});
  t.at = thread::state::paused;
  pick(enabled(t), true);
  t.at = thread::state::ready;
  // The locations that it has spun on become visible, without the data published with them.
  for (; t.spun != 0; t.spun &= t.spun - 1) {
    const auto l = static_cast<unsigned>(__builtin_ctz(t.spun));
    t.seen.location(l) = static_cast<std::int16_t>(memory_[l].size() - 1);
  }
}

bool machine::wait(gate_state& gate, patience until, std::source_location where) {
  if (inert())
    return true;
  point(where);
  if (!gate.open) {
    if (running_ == 0) {
      fail("the host waits for threads that have ended");
      return false;
    }
    self().at = thread::state::waiting;
    self().awaited = &gate;
    self().until = until;
    pick(enabled(self()), true);
    self().at = thread::state::ready;
    if (!gate.open) {
      // Stores become visible in time, without the data published with them.
      for (unsigned l = 0; until == patience::long_enough && l < locations_; ++l)
        self().seen.location(l) = static_cast<std::int16_t>(memory_[l].size() - 1);
      return false;
    }
  }
  gate.open = false;
  self().seen.join(gate.published);
  note({static_cast<std::uint8_t>(running_), action::wait, order::acquire, 0, -1, -1, 0, 0, where});
  tick();
  return true;
}

void machine::signal(gate_state& gate, std::source_location where) {
  if (inert())
    return;
  point(where);
  gate.open = true;
  gate.published.join(self().seen);
  note({static_cast<std::uint8_t>(running_), action::signal, order::release, 0, -1, -1, 0, 0, where});
  tick();
}

// ---- Memory.

unsigned machine::add_location(word initial) {
  if (inert())
    return 0;
  if (locations_ == most_locations)
    misuse("a scenario has too many atomic objects");
  const unsigned location = locations_++;
  ended_[location] = false;
  memory_[location].push_back({initial, self().seen});
  return location;
}

order machine::effective(action what, order how, std::source_location where) {
  const site here{where, what};
  if (limits_.weaken != nullptr)
    return limits_.weaken->where == here ? limits_.weaken->weaker : how;
  for (const order_at& known : orders)
    if (known.where == here)
      return how;
  orders.push_back({here, how});
  return how;
}

void machine::observe(unsigned location, std::size_t index, order how) {
  thread& t = self();
  const auto i = static_cast<std::int16_t>(index);
  t.seen.location(location) = i;
  t.spun |= std::uint32_t{1} << location;
  if (how == order::seq_cst)
    sequential_.location(location) = std::max(sequential_.location(location), i);
  (acquires(how) ? t.seen : t.arriving).join(memory_[location][index].published);
}

// `sequence`: what the store that a read-modify-write has read publishes, it publishes too.
void machine::append(unsigned location, word value, order how, const view* sequence) {
  thread& t = self();
  const auto index = static_cast<std::int16_t>(memory_[location].size());
  t.seen.location(location) = index;
  view published = releases(how) ? t.seen : t.leaving;
  published.location(location) = index;
  if (sequence != nullptr)
    published.join(*sequence);
  if (how == order::seq_cst)
    sequential_.location(location) = index;
  memory_[location].push_back({value, published});
}

machine::word machine::load(unsigned location, order how, std::source_location where) {
  if (inert())
    return 0;
  touch(location, where);
  how = effective(action::load, how, where);
  std::int16_t oldest = self().seen.location(location);
  if (how == order::seq_cst)
    oldest = std::max(oldest, sequential_.location(location));
  const std::size_t last = memory_[location].size() - 1;
  const std::size_t index = last - choose(last - static_cast<std::size_t>(oldest) + 1);
  const word value = memory_[location][index].value;
  observe(location, index, how);
  note({static_cast<std::uint8_t>(running_), action::load, how, static_cast<std::uint8_t>(location),
        static_cast<std::int16_t>(index), -1, value, 0, where});
  tick();
  return value;
}

void machine::store(unsigned location, word value, order how, std::source_location where) {
  if (inert())
    return;
  touch(location, where);
  how = effective(action::store, how, where);
  append(location, value, how, nullptr);
  note({static_cast<std::uint8_t>(running_), action::store, how, static_cast<std::uint8_t>(location), -1,
        self().seen.location(location), 0, value, where});
  tick();
}

// Fails on any value it may read that differs; succeeds only on the latest.
bool machine::compare_exchange(unsigned location, word& expected, word desired, order success, order failure_,
                               std::source_location where) {
  if (inert())
    return true;  // ends the loops of destructors that run while the host unwinds
  touch(location, where);
  success = effective(action::update, success, where);
  failure_ = effective(action::failed_exchange, failure_, where);
  const std::size_t last = memory_[location].size() - 1;
  auto oldest = self().seen.location(location);
  if (failure_ == order::seq_cst)
    oldest = std::max(oldest, sequential_.location(location));
  std::array<std::size_t, 64> readable;
  std::size_t n = 0;
  readable[n++] = last;
  for (std::size_t i = last; i-- > static_cast<std::size_t>(oldest);) {
    if (memory_[location][i].value == expected)
      continue;
    if (n == readable.size())
      misuse("a scenario has too many stores to one location");
    readable[n++] = i;
  }
  const std::size_t index = readable[choose(n)];
  const word value = memory_[location][index].value;
  const bool succeeds = value == expected;
  const view sequence = memory_[location][index].published;
  observe(location, index, succeeds ? success : failure_);
  if (succeeds)
    append(location, desired, success, &sequence);
  note({static_cast<std::uint8_t>(running_), succeeds ? action::update : action::failed_exchange,
        succeeds ? success : failure_, static_cast<std::uint8_t>(location), static_cast<std::int16_t>(index),
        static_cast<std::int16_t>(succeeds ? index + 1 : -1), value, desired, where});
  tick();
  expected = value;
  return succeeds;
}

void machine::fence(order how, std::source_location where) {
  if (inert())
    return;
  point(where);
  how = effective(action::fence, how, where);
  thread& t = self();
  if (acquires(how))
    t.seen.join(t.arriving);
  if (how == order::seq_cst) {
    t.seen.join_locations(sequential_);
    sequential_.join_locations(t.seen);
  }
  if (releases(how))
    t.leaving = t.seen;
  note({static_cast<std::uint8_t>(running_), action::fence, how, 0, -1, -1, 0, 0, where});
  tick();
}

// Of a light and a heavy fence, the later sees all that was seen at the earlier; so it is with two heavy
// ones. Not more: the other threads' part of a membarrier comes at any time while it lasts.
void machine::light_fence(std::source_location where) {
  if (inert())
    return;
  point(where);
  const order how = effective(action::light_fence, order::seq_cst, where);
  if (how == order::seq_cst) {
    light_.join_locations(self().seen);
    self().seen.join_locations(heavy_);
  }
  note({static_cast<std::uint8_t>(running_), action::light_fence, how, 0, -1, -1, 0, 0, where});
  tick();
}

void machine::heavy_fence(std::source_location where) {
  if (inert())
    return;
  point(where);
  const order how = effective(action::heavy_fence, order::seq_cst, where);
  if (how == order::seq_cst) {
    const view others = heavy_;
    heavy_.join_locations(self().seen);
    self().seen.join_locations(others);
    self().seen.join_locations(light_);
  }
  note({static_cast<std::uint8_t>(running_), action::heavy_fence, how, 0, -1, -1, 0, 0, where});
  tick();
}

// ---- Plain variables: no points of their own, since a race is one in any order.

void machine::read(shadow& s) {
  if (inert())
    return;
  thread& t = self();
  if (s.write_clock > t.seen.clock(s.writer))
    fail("data race: thread " + std::to_string(running_) + " reads what thread " + std::to_string(s.writer) +
         " writes");
  s.read_clock[running_] = t.seen.clock(running_);
}

void machine::write(shadow& s) {
  if (inert())
    return;
  thread& t = self();
  if (s.write_clock > t.seen.clock(s.writer))
    fail("data race: threads " + std::to_string(running_) + " and " + std::to_string(s.writer) + " write");
  for (unsigned other = 0; other < count_; ++other)
    if (s.read_clock[other] > t.seen.clock(other))
      fail("data race: thread " + std::to_string(running_) + " writes what thread " + std::to_string(other) +
           " reads");
  s = {t.seen.clock(running_), static_cast<std::uint8_t>(running_), {}};
}

void machine::check(bool holds, const char* what, std::source_location where) {
  if (!holds && !inert())
    fail(std::string("assertion: ") + what + ", line " + std::to_string(where.line()));
}

}  // namespace model
