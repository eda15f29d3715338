// A wait that a waker or a requested stop ends.
//
// header: include/sennit/detail/sched/stop_word.hpp
// scene a stop:
// scene a stop and a waker: -DWAKER
// scene left too soon: -DWAKER -DTOO_SOON  fails
#include "sennit/detail/sched/stop_word.hpp"

#include "sennit/detail/sched/claim.hpp"
#include "weak.hpp"

using sennit::detail::claim_result;
using sennit::detail::claim_state;

constinit sennit::detail::basic_claim<weak::memory> wait;
constinit sennit::detail::basic_stop_word<weak::memory> word;
constinit weak::gate ready;
int frame = 0;  // the wait's frame is there while this is 1
int stopped = 0;
constexpr std::uintptr_t waiter = 64;

bool end(claim_state as) {
  return wait.take(as) == claim_result::won;
}

void wait_or_stop() {
  if (word.is_requested())
    assert(stopped == 1);
  frame = 1;
  bool told = !word.enter(waiter);
  if (told)
    wait.take(claim_state::timed_out);
  if (wait.park())
    ready.wait();
#if !defined(TOO_SOON)
  if (!told)
    told = !word.leave(waiter);
#endif
  frame = 2;
#if defined(WAKER)
  if (wait.state() != claim_state::taken)
#endif
  {
    assert(wait.state() == claim_state::timed_out);
#if !defined(TOO_SOON)
    assert(told);
    assert(word.is_requested());
#endif
  }
  if (told)
    assert(stopped == 1);
}

void stop() {
  stopped = 1;
  bool wake = false;
  if (word.begin_delivery() == waiter) {
    assert(frame == 1);
    wake = end(claim_state::timed_out);
    assert(frame == 1);
  }
  word.end_delivery();
  if (wake)
    ready.signal();
}

void wake() {
  if (end(claim_state::taken))
    ready.signal();
}

int main() {
#if defined(WAKER)
  weak::run(wait_or_stop, stop, wake);
#else
  weak::run(wait_or_stop, stop);
#endif
  assert(word.is_requested());
}
