// The actions of fibers on each other. A runtime may end at any time: a fiber that refers to another fiber's
// object shares it.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "stress/stress.hpp"

#include "sennit/errno.h"  // last: it redefines errno

namespace stress {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

bool may_start(episode& e, int count) {
  if (e.budget.fetch_sub(count) >= count)
    return true;
  e.budget += count;
  return false;
}

void hop(const episode& e, random_source& random) {
  const unsigned before = this_fiber::worker();
  const int error = static_cast<int>(random.below(4000)) + 1;
  const unsigned kind = random.below(32);
  errno = error;
  if (kind < 20) {
    this_fiber::yield();
  } else if (kind < 30) {
    const auto until = steady::now() + std::chrono::microseconds(random.below(100));
    errno = error;
    this_fiber::sleep_until(until);
    check(e, errno == error, "errno changed over a sleep");
    check(e, steady::now() >= until, "a sleep ended early");
  } else if (kind == 30) {
    this_fiber::sleep_for(std::chrono::microseconds(random.below(3000)));
  } else {  // stuck for a while, so that others serve what waits here
    const auto until = steady::now() + std::chrono::microseconds(random.below(4000));
    while (steady::now() < until)
      ;
  }
  all.moves += this_fiber::worker() != before ? 1 : 0;
  ++all.progress;
}

namespace {

struct thrown {
  std::uint64_t by;
};

spawn_options options_of(const episode& e, random_source& random) {
  spawn_options options;
  switch (random.below(8)) {
    case 0:
      options.name = "somebody";
      break;
    case 1:
      options.near = random.below(e.is.workers);
      break;
    case 2:
      options.stack_size = 256 * 1024;
      break;
    default:;
  }
  return options;
}

template <class Function>
fiber start(episode& e, random_source& random, Function function) {
  auto body = [&e, function = std::move(function), counted = token(e)]() mutable {
    const living here(e);
    function();
  };
  if (random.one_in(3))
    return spawn_now(std::move(body));
  return spawn(std::move(body), options_of(e, random));
}

void join(const episode& e, random_source& random, fiber f) {
  if (random.one_in(3)) {
    while (!f.join_for(std::chrono::microseconds(random.below(200)))) {
      ++all.give_ups;
      if (random.one_in(2))
        this_fiber::sleep_for(20us);
      else
        this_fiber::yield();
    }
  } else {
    f.join();
  }
  check(e, !f.joinable(), "a handle is joinable after its join");
  ++all.joins;
}

void start_some(episode& e, random_source& random, unsigned depth) {
  const int count = random.one_in(20) ? 400 : 1 + static_cast<int>(random.below(6));
  if (!may_start(e, count))
    return;
  std::vector<fiber> started;
  for (int i = 0; i < count; ++i)
    started.push_back(
        start(e, random, [&e, seed = random.next(), depth, count] { act(e, seed, count > 6 ? 0 : depth); }));
  if (random.one_in(2))
    hop(e, random);
  while (!started.empty()) {
    std::swap(started[random.below(static_cast<unsigned>(started.size()))], started.back());
    fiber f = std::move(started.back());
    started.pop_back();
    if (random.one_in(8))
      f.detach();
    else if (random.one_in(8) && may_start(e, 1))  // another fiber joins it, and is detached itself
      start(e, random, [&e, seed = random.next(), f = std::move(f)]() mutable {
        random_source own(seed);
        join(e, own, std::move(f));
      });
    else
      join(e, random, std::move(f));
  }
}

long tree(episode& e, std::uint64_t seed, int height) {
  if (height == 0)
    return 1;
  random_source random(seed);
  const auto left = std::make_shared<long>(0);
  auto half = [&e, left, seed = random.next(), height, counted = token(e)] {
    const living here(e);
    *left = tree(e, seed, height - 1);
  };
  fiber child = random.one_in(5) ? spawn(std::move(half)) : spawn_now(std::move(half));
  if (random.one_in(4))
    hop(e, random);
  const long right = tree(e, random.next(), height - 1);
  child.join();
  ++all.joins;
  return *left + right;
}

void grow_tree(episode& e, random_source& random) {
  const int height = 1 + static_cast<int>(random.below(7));
  if (may_start(e, 1 << height))
    check(e, tree(e, random.next(), height) == 1L << height, "a tree has lost leaves");
}

// Parks until it has been unparked so often.
void count_unparks(const episode& e, std::uint64_t seed, std::atomic<unsigned>& counted, unsigned goal) {
  random_source random(seed);
  for (unsigned i = 0; i < goal; ++i) {
    const int error = static_cast<int>(random.below(4000)) + 1;
    errno = error;
    if (random.one_in(3)) {
      while (!this_fiber::park_until(steady::now() + std::chrono::microseconds(random.below(100)))) {
        ++all.give_ups;
        errno = error;
      }
      errno = error;
    } else {
      this_fiber::park();
    }
    check(e, errno == error, "errno changed over a park");
    ++counted;
    ++all.parks;
    ++all.progress;
  }
}

void unpark_one(episode& e, random_source& random) {
  if (!may_start(e, 1))
    return;
  const unsigned goal = 1 + random.below(20);
  auto counted = std::make_shared<std::atomic<unsigned>>(0);
  fiber f =
      start(e, random, [&e, seed = random.next(), counted, goal] { count_unparks(e, seed, *counted, goal); });
  if (random.one_in(2)) {
    const std::lock_guard hold(e.lock);
    if (!e.closed)
      return e.errands.push_back({std::move(f), counted, goal});
  }
  while (*counted < goal) {
    const unsigned before = *counted;
    f.unpark();
    for (unsigned i = 0; i < 3 && *counted == before; ++i)
      hop(e, random);
  }
  join(e, random, std::move(f));
}

void pin_one(episode& e, random_source& random) {
  if (!may_start(e, 1))
    return;
  const unsigned where = random.below(e.is.workers);
  fiber f = spawn(
      [&e, where, seed = random.next(), counted = token(e)] {
        const living here(e);
        random_source own(seed);
        for (unsigned i = own.below(12); i != 0; --i) {
          check(e, this_fiber::worker() == where || e.ending, "a pinned fiber is elsewhere");
          hop(e, own);
          if (own.one_in(4))
            grow_tree(e, own);
        }
        check(e, this_fiber::worker() == where || e.ending, "a pinned fiber is elsewhere in the end");
      },
      {.name = "pinned", .pinned = where});
  join(e, random, std::move(f));
}

struct hops_at_its_end {
  const episode& e;
  random_source& random;
  int uncaught;
  ~hops_at_its_end() {
    if (std::uncaught_exceptions() == uncaught)
      return;  // nothing was thrown
    hop(e, random);
    check(e, std::uncaught_exceptions() == uncaught + 1, "uncaught exceptions are another's");
  }
};

void throw_some(episode& e, random_source& random) {
  const std::uint64_t mark = random.next();
  if (!e.is.abrupt && may_start(e, 1)) {  // a fiber that is unwound does not join those that failed
    fiber f = start(e, random, [&e, mark, seed = random.next()] {
      random_source own(seed);
      hop(e, own);
      throw thrown{mark};
    });
    try {
      join(e, random, std::move(f));
      fail(e, "an exception is lost");
    } catch (const thrown& caught) {
      check(e, caught.by == mark, "another's exception came out of a join");
    }
  }
  if (e.is.abrupt)  // no destructor of ours may block while it is unwound for good
    return;
  try {
    const hops_at_its_end passed{e, random, std::uncaught_exceptions()};
    throw thrown{mark};
  } catch (const thrown&) {
    hop(e, random);
    try {
      throw;
    } catch (const thrown& again) {
      hop(e, random);
      check(e, again.by == mark, "another's exception was rethrown");
    }
  }
  check(e, std::uncaught_exceptions() == 0 && std::current_exception() == nullptr,
        "an exception is left over");
  ++all.exceptions;
}

}  // namespace

void act(episode& e, std::uint64_t seed, unsigned depth) {
  random_source random(seed);
  for (unsigned i = 1 + random.below(5); i != 0; --i) {
    const unsigned kind = random.below(depth == 0 ? 4 : 22);
    if (kind < 3)
      hop(e, random);
    else if (kind == 3)
      throw_some(e, random);
    else if (kind == 4)
      stress_io(e, random);
    else if (kind < 9)
      start_some(e, random, depth - 1);
    else if (kind < 11)
      grow_tree(e, random);
    else if (kind < 14)
      unpark_one(e, random);
    else if (kind < 16)
      stress_channels(e, random);
    else if (kind < 18)
      stress_continuations(e, random);
    else if (kind < 20)
      stress_actors(e, random);
    else
      pin_one(e, random);
  }
}

void act_outside(episode& e, std::uint64_t seed) {
  random_source random(seed);
  for (unsigned i = 4 + random.below(12); i != 0; --i) {
    auto body = [&e, seed = random.next(), counted = std::make_shared<token>(e)] {
      const living here(e);
      act(e, seed, 3);
    };
    switch (random.below(5)) {
      case 0:
        e.runtime->post(std::move(body));
        break;
      case 1:
        check(e, e.runtime->run([&] { return body(), 42; }) == 42, "a result is lost");
        break;
      case 2: {
        fiber f = e.runtime->spawn(std::move(body));
        while (!f.join_for(std::chrono::microseconds(random.below(300))))
          ++all.give_ups;
        break;
      }
      case 3: {
        fiber f = e.runtime->spawn(std::move(body), options_of(e, random));
        static_cast<void>(e.runtime->size());
        f.join();
        break;
      }
      default:
        for (std::unique_lock hold(e.lock); !e.errands.empty(); hold.lock()) {
          errand next = std::move(e.errands.front());
          e.errands.pop_front();
          hold.unlock();
          while (*next.counted < next.goal) {
            next.who.unpark();
            std::this_thread::yield();
          }
          next.who.join();
        }
    }
    ++all.progress;
  }
}

void leave_some(episode& e, std::uint64_t seed) {
  random_source random(seed);
  for (unsigned i = 1 + random.below(20); i != 0; --i)
    e.runtime->post([&e, kind = random.below(8), counted = std::make_shared<token>(e)] {
      const living here(e);
      const auto noted = std::make_shared<token>(e);
      switch (kind) {
        case 0:
          return this_fiber::park();
        case 1:
          return this_fiber::sleep_for(24h);
        case 2:
          return static_cast<void>(this_fiber::park_until(steady::now() + 24h));
        case 3:
          for (;;)
            this_fiber::yield();
        case 4:
          return listen_in_vain(false);
        case 5:
          return listen_in_vain(true);
        case 6: {
          fiber child = spawn_now([noted] { this_fiber::park(); });
          return child.join();
        }
        default: {
          fiber child = spawn([noted] { this_fiber::sleep_for(24h); });
          static_cast<void>(child.join_for(24h));
        }
      }
    });
}

}  // namespace stress
