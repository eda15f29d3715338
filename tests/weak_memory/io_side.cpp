// A side of a source: its user, drivers that report events, a deadline, and the closer.
//
// clang-format off
// header: include/sennit/detail/io/side.hpp
// header: include/sennit/detail/wait/slot.hpp
// survives: bool is_closed() const noexcept { return (word_.load(std::memory_order_acquire) & closed) != 0; } -> relaxed
// survives: return (word_.load(std::memory_order_acquire) & ~(closed | abandoned)) == other; -> relaxed
// survives: return slot.compare_exchange_strong(expected, me, std::memory_order_acq_rel, std::memory_order_acquire); -> release
// survives: return slot.compare_exchange_strong(expected, me, std::memory_order_acq_rel, std::memory_order_acquire); [2] -> relaxed
// survives: return slot.compare_exchange_strong(me, left, std::memory_order_acq_rel, std::memory_order_acquire); -> acquire
// survives: return slot.compare_exchange_strong(me, left, std::memory_order_acq_rel, std::memory_order_acquire); -> release
// survives: return slot.compare_exchange_strong(me, left, std::memory_order_acq_rel, std::memory_order_acquire); [2] -> relaxed
// survives: return word_.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_acquire); -> release
// scene 1 driver: -DDRIVERS=1 -DTIMES=2
// scene 2 drivers: -DDRIVERS=2 -DTIMES=1
// scene a deadline: -DDEADLINE
// scene closed: -DCLOSED
// scene noted after: -DDRIVERS=1 -DTIMES=1 -DNOTED_AFTER  fails
// scene left too soon: -DDEADLINE -DTOO_SOON  fails
// clang-format on
#define ECANCELED 125  // <cerrno> is GenMC's own, and does not have all
#define EBUSY 16
#include "sennit/detail/io/side.hpp"

#include "sennit/detail/sched/claim.hpp"
#include "sennit/detail/wait/slot.hpp"
#include "weak.hpp"

using sennit::detail::claim_result;
using sennit::detail::claim_state;

using side = sennit::detail::basic_io_side<weak::memory>;
using uses = sennit::detail::basic_io_uses<weak::memory>;

// A wait, as multi_wait and end_slot_wait have it.
struct node {
  sennit::detail::basic_claim<weak::memory> claim;
  weak::gate ready;
  weak::atomic<bool> released{false};
  int memory = 0;  // the waiter; then the word that it is woken with; then later contents

  void end_by(claim_state how) {
    if (claim.take(how) == claim_result::won)
      ready.signal();
  }
  void end_by_event() {
    assert(memory == 1);
    memory = 2;
    const claim_result result = claim.take(claim_state::taken);
    if (result == claim_result::won)
      ready.signal();
    else if (result == claim_result::lost)
      released.store(true, std::memory_order_release);
  }
};

constinit side reading;
constinit uses counted;
constinit std::atomic<int> data{0};
bool is_open = true;
int closed = 0;
int given = 0;
constinit node nodes[4];

std::uintptr_t word_of(unsigned wait) {
  return 4 * (wait + 1);
}

void event() {
  const std::uintptr_t was = reading.record_event([](std::uintptr_t) { return false; });
  if (was % 2 == 0)
    nodes[was / 4 - 1].end_by_event();
}
void send() {
  data.fetch_add(1, std::memory_order_relaxed);
  event();
}

void wait(unsigned number, std::uintptr_t seen) {
  node& mine = nodes[number];
  mine.memory = 1;
  if (!sennit::detail::slot_enter(reading.word, seen, word_of(number)))
    return;
  if (mine.claim.park())
    mine.ready.wait();
#if !defined(TOO_SOON)
  if (mine.claim.state() != claim_state::taken &&
      !sennit::detail::slot_leave(reading.word, side::first, word_of(number)))
    while (!mine.released.load(std::memory_order_acquire))
      weak::memory::yield_thread();
#endif
  mine.memory = 3;
}

// As io_step: reads until so much has come, or the source is closed.
void read_until(int goal) {
  for (unsigned waits = 0;; ++waits) {
    const std::uintptr_t events = reading.look();
    if (events != reading.last_seen_event) {
      assert(is_open);
      if (data.load(std::memory_order_relaxed) >= goal)
        return;
#if defined(NOTED_AFTER)
      reading.last_seen_event = reading.look();
#else
      reading.last_seen_event = events;
#endif
    }
    if (counted.is_closed())
      return;
    const std::uintptr_t seen = reading.last_seen_event;
    reading.last_seen_event = 0;
    assert(waits < 4);
    wait(waits, seen);
    if (counted.is_closed())
      return;
  }
}

void end(std::uint32_t what) {
  if (!counted.end(what, true))
    counted.end_last(
        what, true,
        [] {
          assert(given == 0);
          if (is_open) {
            is_open = false;
            ++closed;
          }
        },
        [] { ++given; });
}

int main() {
#if defined(CLOSED)
  counted.begin(uses::reading, true);
  weak::run(
      [] {
        read_until(1);
        end(uses::reading);
      },
      [] {
        if (counted.begin_end(uses::closed | uses::abandoned, true))
          event();
        end(uses::other);
      });
  assert(closed == 1 && given == 1 && !is_open);
#elif defined(DEADLINE)
  weak::run(send, [] { nodes[0].end_by(claim_state::timed_out); }, [] { read_until(1); });
#else
  const auto driver = [] {
    for (int i = 0; i < TIMES; ++i)
      send();
  };
  const auto reader = [] { read_until(DRIVERS * TIMES); };
#if DRIVERS == 2
  weak::run(driver, driver, reader);
#else
  weak::run(driver, reader);
#endif
#endif
}
