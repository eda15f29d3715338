// Which of several events ends a wait.
//
// header: include/sennit/detail/sched/claim.hpp
// scene waker and deadline: -DWAKER_AND_DEADLINE
// scene park and grant: -DPARK_AND_GRANT -DGRANTERS=1
// scene park and 2 grants: -DPARK_AND_GRANT -DGRANTERS=2
// scene park for 1 grant: -DPARK_FOR_GRANTS -DGRANTERS=1
// scene park for 2 grants: -DPARK_FOR_GRANTS -DGRANTERS=2
// scene grant and end: -DGRANT_AND_END
// scene parked blindly: -DWAKER_AND_DEADLINE -DBLINDLY  fails
#include "sennit/detail/sched/claim.hpp"

#include "weak.hpp"

using sennit::detail::claim_result;
using sennit::detail::claim_state;
using sennit::detail::parked_for_grant;

constinit sennit::detail::basic_claim<weak::memory> wait;
constinit weak::gate ready;
int word = 0;
int context = 0;  // what whoever resumes the waiter reads

#if defined(WAKER_AND_DEADLINE)

constinit std::atomic<unsigned> won{0};

void end(claim_state as) {
  const claim_result result = wait.take(as);
  if (result != claim_result::lost)
    won.fetch_add(1, std::memory_order_relaxed);
  if (result == claim_result::won) {
    assert(context == 1);
    ready.signal();
  }
}

int main() {
  weak::run(
      [] {
        context = 1;
#if defined(BLINDLY)
        static_cast<void>(wait.park());
        ready.wait();
#else
        if (wait.park())
          ready.wait();
#endif
        if (wait.state() == claim_state::taken)
          assert(word == 7);
      },
      [] {
        word = 7;
        end(claim_state::taken);
      },
      [] { end(claim_state::timed_out); });
  assert(won.load(std::memory_order_relaxed) == 1);
}

#elif defined(PARK_AND_GRANT)

void park() {
  context = 1;
  if (wait.is_open() && wait.park())
    ready.wait();
  const claim_state was = wait.reopen();
  assert(was == claim_state::taken);
#if GRANTERS == 1
  assert(word == 1);
#endif
}

void grant() {
#if GRANTERS == 1
  word = 1;
#endif
  if (wait.grant()) {
    assert(context == 1);
    ready.signal();
  }
}

int main() {
#if GRANTERS == 2
  weak::run(park, grant, grant);
#else
  weak::run(park, grant);
#endif
}

#elif defined(PARK_FOR_GRANTS)

constinit std::atomic<unsigned> there{0};
constinit std::atomic<unsigned> made_ready{0}, parked{0};

void park() {
  while (there.load(std::memory_order_relaxed) != GRANTERS) {
    context = context + 1;
    if (wait.is_open() && wait.park(parked_for_grant)) {
      parked.fetch_add(1, std::memory_order_relaxed);
      ready.wait();
    }
    wait.renew();
  }
}

void grant() {
  there.fetch_add(1, std::memory_order_relaxed);
  if (wait.grant()) {
    assert(context >= 1);
    made_ready.fetch_add(1, std::memory_order_relaxed);
    ready.signal();
  }
}

int main() {
#if GRANTERS == 2
  weak::run(park, grant, grant);
#else
  weak::run(park, grant);
#endif
  assert(made_ready.load(std::memory_order_relaxed) == parked.load(std::memory_order_relaxed));
}

#else

constinit std::atomic<unsigned> made_ready{0};

int main() {
  weak::run(
      [] {
        if (wait.park(parked_for_grant)) {
          ready.wait();
          assert(made_ready.load(std::memory_order_relaxed) == 1);
        }
      },
      [] {
        if (wait.grant()) {
          made_ready.fetch_add(1, std::memory_order_relaxed);
          ready.signal();
        }
      },
      [] {
        if (wait.withdraw()) {
          made_ready.fetch_add(1, std::memory_order_relaxed);
          ready.signal();
        }
      });
  assert(made_ready.load(std::memory_order_relaxed) <= 1);
}

#endif
