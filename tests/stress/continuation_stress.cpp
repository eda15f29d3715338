// Runners that wait without a stack: at each step by another kind of wait, with a deadline, until a stop, or
// with a stack after all. Nothing is lost, nothing is doubled, no lock stays locked.
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/biased.hpp"
#include "sennit/channel.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/mutex.hpp"
#include "stress/stress.hpp"

namespace stress {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

// The runners' shared state. The last of them, or the fiber that has started them, ends it.
struct shared_objects {
  shared_objects(episode& of, random_source& random) : e(of), lock({.bias = random.one_in(2)}) {}
  shared_objects(const shared_objects&) = delete;
  shared_objects& operator=(const shared_objects&) = delete;

  episode& e;
  mutex lock;
  bool inside = false;
  channel<std::uint64_t> direct;
  biased_channel<std::uint64_t> stored{2};
  std::atomic<std::uint64_t> sent{0};  // sums
  std::atomic<std::uint64_t> received{0};
  counting_semaphore permits{2};
  std::atomic<int> permitted{0};
  std::stop_source stop;
};

// For a runner that is the only one on a course. A runtime that ends drops runners, wherever they are.
struct leave_alone {
  void operator()(shared_objects* on) const {
    on->inside = false;
    on->lock.unlock();
  }
};

struct runner {
  std::shared_ptr<shared_objects> on;
  token counted;
  random_source random;
  unsigned steps;
  std::uint64_t number = 0;                                 // that it sends
  std::unique_ptr<shared_objects, leave_alone> alone_on{};  // after `on`: that keeps it
};

continuation run(runner r);

continuation have_sent(runner r, bool was) {
  r.on->sent += was ? r.number : 0;
  return run(std::move(r));
}

continuation have_received(runner r, std::optional<std::uint64_t> number) {
  r.on->received += number.value_or(0);
  return run(std::move(r));
}

continuation leave_lock(runner r) {
  r.alone_on.reset();
  return run(std::move(r));
}

continuation have_locked(runner r) {
  check(r.on->e, !std::exchange(r.on->inside, true), "two hold one mutex");
  r.alone_on.reset(r.on.get());
  if (r.random.one_in(2))
    return become(this_fiber::yielding(), leave_lock, std::move(r));
  return leave_lock(std::move(r));
}

continuation may_have_locked(runner r, bool has) {
  return has ? have_locked(std::move(r)) : run(std::move(r));
}

continuation leave_permit(runner r) {
  --r.on->permitted;
  r.on->permits.release();
  return run(std::move(r));
}

continuation have_permit(runner r, bool has) {
  if (!has)
    return run(std::move(r));
  check(r.on->e, ++r.on->permitted <= 2, "a semaphore let too many in");
  if (r.random.one_in(2))
    return become(this_fiber::sleeping_for(std::chrono::microseconds(r.random.below(50))), leave_permit,
                  std::move(r));
  return leave_permit(std::move(r));
}

continuation have_slept(runner r, bool) {
  ++all.parks;
  return run(std::move(r));
}

continuation have_joined(runner r) {
  ++all.joins;
  return run(std::move(r));
}

continuation may_have_joined(runner r, fiber left) {
  if (!left.joinable())
    return have_joined(std::move(r));
  ++all.give_ups;
  return become(joining(std::move(left)), have_joined, std::move(r));
}

fiber start_child(const runner& r, std::uint64_t seed) {
  episode& e = r.on->e;
  return spawn([&e, seed, counted = token(e)] {
    const living here(e);
    random_source own(seed);
    hop(e, own);
  });
}

// A step: its wait, and its action after that.
continuation run(runner r) {
  shared_objects& on = *r.on;
  ++all.progress;
  if (r.steps-- == 0)
    return {};
  if (r.random.one_in(8))
    hop(on.e, r.random);
  if (r.random.one_in(100))
    on.stop.request_stop();
  const auto soon = steady::now() + std::chrono::microseconds(r.random.below(200));
  r.number = r.random.below(1000);
  switch (r.random.below(13)) {
    case 0:
      return become(this_fiber::yielding(), run, std::move(r));
    case 1:
      return become(this_fiber::sleeping_until(soon), run, std::move(r));
    case 2:
      return become(this_fiber::parking_until(soon), have_slept, std::move(r));
    case 3:
      return become(on.lock.locking(), have_locked, std::move(r));
    case 4:
      return become(on.lock.locking_until(soon), may_have_locked, std::move(r));
    case 5:
      return become(stoppable(on.lock.locking(), on.stop.get_token()), may_have_locked, std::move(r));
    case 6:
      return become(on.direct.sending_until(r.number, soon), have_sent, std::move(r));
    case 7:
      return become(on.stored.sending_until(r.number, soon), have_sent, std::move(r));
    case 8:
      return become(on.direct.receiving_until(soon), have_received, std::move(r));
    case 9:
      return become(stoppable(on.stored.receiving_until(soon), on.stop.get_token()), have_received,
                    std::move(r));
    case 10:
      return become(on.permits.acquiring_until(soon), have_permit, std::move(r));
    case 11:
      return become(stoppable(this_fiber::sleeping_until(soon), on.stop.get_token()), have_slept,
                    std::move(r));
    default:
      if (!may_start(on.e, 1))
        return run(std::move(r));
      fiber child = start_child(r, r.random.next());
      if (r.random.one_in(2))
        return become(joining(std::move(child)), have_joined, std::move(r));
      return become(joining_until(std::move(child), soon), may_have_joined, std::move(r));
  }
}

}  // namespace

void stress_continuations(episode& e, random_source& random) {
  const int count = 2 + static_cast<int>(random.below(12));
  if (!may_start(e, count))
    return;
  const auto on = std::make_shared<shared_objects>(e, random);
  std::vector<fiber> runners;
  for (int i = 0; i < count; ++i) {
    runner r{on, token(e), random_source(random.next()), 3 + random.below(20)};
    runners.push_back(spawn(become(this_fiber::yielding(), run, std::move(r))));
  }
  if (random.one_in(3))
    hop(e, random);
  for (fiber& each : runners) {
    each.join();
    ++all.joins;
  }
  while (std::optional<std::uint64_t> left = on->stored.try_receive())
    on->received += *left;
  check(e, on->sent == on->received, "a number is lost, or was received twice, without a stack");
  check(e, on->lock.try_lock(), "a mutex is locked for good by a runner");
  on->lock.unlock();
  check(e, on->permits.try_acquire() && on->permits.try_acquire() && !on->permits.try_acquire(),
        "permits are lost by runners");
}

}  // namespace stress
