// Traders in a scope. They hand each other numbers over channels, by select, under a mutex, with permits;
// with deadlines, and stops at any time. Nothing is lost, nothing is doubled, no lock stays locked.
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stop_token>
#include <utility>

#include "sennit/biased.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/mutex.hpp"
#include "sennit/scope.hpp"
#include "sennit/select.hpp"
#include "sennit/shared_mutex.hpp"
#include "sennit/stop_guard.hpp"
#include "stress/stress.hpp"

namespace stress {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

struct shared_objects {
  shared_objects(episode& of, random_source& random)
      : e(of), lock({.bias = random.one_in(2)}), changed({.bias = random.one_in(2)}) {}
  shared_objects(const shared_objects&) = delete;
  shared_objects& operator=(const shared_objects&) = delete;

  episode& e;
  channel<std::uint64_t> direct;
  biased_channel<std::unique_ptr<std::uint64_t>> stored{3};
  std::atomic<std::uint64_t> sent{0};  // sums
  std::atomic<std::uint64_t> received{0};
  mutex lock;
  condition_variable changed;
  std::uint64_t under_lock = 0;
  bool inside = false;
  biased_semaphore permits{2};
  std::atomic<int> permitted{0};
  shared_mutex book;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
};

std::chrono::microseconds soon(random_source& random) {
  return std::chrono::microseconds(random.below(200));
}

void trade(shared_objects& m, random_source& random) {
  const std::uint64_t number = random.below(1000);
  const auto gave = [&](bool was) { m.sent += was ? number : 0; };
  const auto got = [&](std::optional<std::uint64_t> n) { m.received += n.value_or(0); };
  const auto got_stored = [&](std::optional<std::unique_ptr<std::uint64_t>> n) { m.received += n ? **n : 0; };
  const auto in_time = steady::now() + soon(random);
  switch (random.below(6)) {
    case 0:
      return gave(m.direct.send_until(number, in_time));
    case 1:
      return gave(m.stored.send_until(std::make_unique<std::uint64_t>(number), in_time));
    case 2:
      return got(m.direct.receive_until(in_time));
    case 3:
      return got_stored(m.stored.receive_until(in_time));
    case 4:
      select(on_send(m.direct, number, gave), on_receive(m.direct, got), on_receive(m.stored, got_stored),
             on_timeout(soon(random), [] { ++all.give_ups; }));
      return;
    default:
      select(on_send(m.stored, std::make_unique<std::uint64_t>(number), gave), on_receive(m.direct, got),
             on_send(m.direct, number, gave), on_timeout(soon(random), [] { ++all.give_ups; }));
  }
}

// No other trader is inside, whatever ends the waits.
struct alone {
  explicit alone(shared_objects& in) : m(in) {
    check(m.e, !std::exchange(m.inside, true), "two hold one mutex");
  }
  ~alone() { m.inside = false; }
  shared_objects& m;
};

void exclude(shared_objects& m, random_source& random) {
  std::unique_lock hold(m.lock, std::defer_lock);
  if (random.one_in(3)) {
    if (!hold.try_lock_for(soon(random)))
      return;
  } else {
    hold.lock();
  }
  {
    const alone here(m);
    ++m.under_lock;
    if (random.one_in(4))
      this_fiber::yield();
  }
  if (random.one_in(3))
    m.changed.notify_all();
  else if (random.one_in(2))
    m.changed.notify_one();
  else
    m.changed.wait_for(hold, soon(random));
  const alone again(m);
}

void be_one_of_two(shared_objects& m, random_source& random) {
  if (!m.permits.try_acquire_for(soon(random)))
    return;
  struct permit {
    explicit permit(shared_objects& in) : m(in) {
      check(m.e, ++m.permitted <= 2, "a semaphore let too many in");
    }
    ~permit() {
      --m.permitted;
      m.permits.release();
    }
    shared_objects& m;
  } const mine(m);
  hop(m.e, random);
}

// Counts one while it lives.
struct counted {
  explicit counted(std::atomic<int>& among) : all_of_them(among) { ++all_of_them; }
  ~counted() { --all_of_them; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  std::atomic<int>& all_of_them;
};

void read_or_write(shared_objects& m, random_source& random) {
  if (random.one_in(3)) {
    const std::unique_lock hold(m.book, soon(random));
    if (!hold.owns_lock())
      return;
    const counted writer(m.writers);
    check(m.e, m.writers == 1 && m.readers == 0, "a writer is not alone");
    this_fiber::yield();
  } else {
    const std::shared_lock hold(m.book, soon(random));
    if (!hold.owns_lock())
      return;
    const counted reader(m.readers);
    check(m.e, m.writers == 0, "a reader is beside a writer");
    this_fiber::yield();
  }
}

void live(shared_objects& m, std::uint64_t seed, std::stop_source& some) {
  random_source random(seed);
  for (unsigned i = 3 + random.below(20); i != 0; --i) {
    switch (random.below(5)) {
      case 0:
      case 1:
        trade(m, random);
        break;
      case 2:
        exclude(m, random);
        break;
      case 3:
        be_one_of_two(m, random);
        break;
      default:
        read_or_write(m, random);
    }
    if (random.one_in(60))
      some.request_stop();
    ++all.progress;
  }
}

struct bankrupt {};

}  // namespace

void stress_channels(episode& e, random_source& random) {
  const int traders = 2 + static_cast<int>(random.below(8));
  if (!may_start(e, traders))
    return;
  shared_objects m(e, random);
  std::stop_source some;
  const bool fails = random.one_in(4);
  try {
    scope in;
    for (int i = 0; i < traders; ++i)
      in.spawn([&, i, seed = random.next(), counted = std::make_shared<token>(e)] {
        const living here(e);
        std::optional<stop_guard> guard;
        if (i % 2 == 0)
          guard.emplace(some.get_token());
        live(m, seed, some);
        if (fails && i == 1)
          throw bankrupt{};
      });
    if (random.one_in(2))
      live(m, random.next(), some);  // the owner's waits end when a fiber fails
    if (random.one_in(3))
      in.request_stop();
  } catch (const bankrupt&) {
    check(e, fails, "a scope has thrown what nobody threw");
  }
  while (std::optional<std::unique_ptr<std::uint64_t>> left = m.stored.try_receive())
    m.received += **left;
  check(e, m.sent == m.received, "a number is lost, or was received twice");
  check(e, m.lock.try_lock(), "a mutex is locked for good");
  m.lock.unlock();
  check(e, m.permits.try_acquire() && m.permits.try_acquire() && !m.permits.try_acquire(),
        "permits are lost");
  check(e, m.book.try_lock(), "a shared mutex is locked for good");
  m.book.unlock();
  ++all.progress;
}

}  // namespace stress
