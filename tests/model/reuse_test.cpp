// A descriptor is used again while the waker of its former fiber still holds its address.
//
// Both fibers wait in a word (slot.hpp), with a claim, at the same addresses. The first has a deadline. What
// src/wait/wait.cpp does around these is mirrored: wait_with_claim, wait_for_release, end_slot_wait and
// shared_timers::fire_due.
#include <array>

#include "model.hpp"
#include "sennit/detail/sched/claim.hpp"
#include "sennit/detail/wait/slot.hpp"

namespace {

using sennit::detail::claim_result;
using sennit::detail::claim_state;
using sennit::detail::slot_enter;
using sennit::detail::slot_leave;

enum class plants {
  nothing,
  compares_not,   // whether it is still in the word that it leaves
  waits_not,      // until the waker that took it out releases it
  cancels_not,    // its deadline
  takes_blindly,  // a waker: whether the wait has ended by something else
};

constexpr std::uintptr_t nobody = 1;
constexpr std::uintptr_t told = 3;

struct slot {
  model::atomic<std::uintptr_t> word{nobody};
  slot() = default;
};

// Type-stable: its address stands for whoever it is just now.
struct descriptor {
  static constexpr std::uintptr_t address = 64;
  sennit::detail::basic_claim<model::memory> claim;
  model::atomic<bool> released{false};
  model::plain<int> word{0};
  model::gate ready;
  int parked = 0;
  int made_ready = 0;

  void make_ready() {
    ++made_ready;
    ready.signal();
  }
};

class timer {
public:
  void arm() { change(true); }
  void cancel() { change(false); }
  void fire(descriptor& of) {
    lock();
    const bool due = armed_;
    const claim_result result = due ? of.claim.take(claim_state::timed_out) : claim_result::lost;
    armed_ = false;
    unlock();
    if (result == claim_result::won)
      of.make_ready();
  }

private:
  void change(bool to) {
    lock();
    armed_ = to;
    unlock();
  }
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire))
      while (taken_.load(std::memory_order_relaxed))
        model::memory::yield_thread();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }
  model::atomic<bool> taken_{false};
  model::plain<bool> armed_{false};
};

void wait(descriptor& me, slot& in, timer* deadline, plants what) {
  std::uintptr_t seen = nobody;
  if (!slot_enter(in.word, seen, descriptor::address)) {
    MODEL_CHECK(seen == told);
    return;
  }
  if (deadline != nullptr)
    deadline->arm();
  if (me.claim.park()) {
    ++me.parked;
    me.ready.wait();
  }
  if (deadline != nullptr && what != plants::cancels_not)
    deadline->cancel();
  if (me.claim.state() == claim_state::taken)
    return;
  if (what == plants::compares_not)
    in.word.store(nobody, std::memory_order_release);
  else if (!slot_leave(in.word, nobody, descriptor::address) && what != plants::waits_not)
    while (!me.released.load(std::memory_order_acquire))
      model::memory::yield_thread();
}

void wake(descriptor& it, slot& out_of, int word, plants what) {
  if (out_of.word.exchange(told, std::memory_order_acq_rel) != descriptor::address)
    return;
  it.word = word;
  const claim_result result = it.claim.take(claim_state::taken);
  if (result == claim_result::won || what == plants::takes_blindly)
    it.make_ready();
  if (result == claim_result::lost)
    it.released.store(true, std::memory_order_release);
}

auto two_lives(plants what) {
  return [=](model::run& run) {
    descriptor one;
    std::array<slot, 2> slots;
    timer deadline;
    run.thread([&] {
      wait(one, slots[0], &deadline, what);
      // The first ends, and the second begins.
      one.claim.reopen();
      one.released.store(false, std::memory_order_relaxed);
      one.word = 0;
      wait(one, slots[1], nullptr, what);
      MODEL_CHECK(one.claim.state() != claim_state::timed_out);
      if (one.claim.state() == claim_state::taken)
        MODEL_CHECK(one.word == 2);
    });
    run.thread([&] { wake(one, slots[0], 1, what); });
    run.thread([&] { wake(one, slots[1], 2, what); });
    run.thread([&] { deadline.fire(one); });
    run.join();
    MODEL_CHECK(one.made_ready == one.parked);
  };
}

TEST(reuse, a_late_wake_is_not_for_the_next) {
  const model::report r = model::explore("reuse", {}, two_lives(plants::nothing));
  EXPECT_FALSE(r.failed) << r;
}

TEST(reuse, what_is_not_protected_is_found) {
  for (const plants what :
       {plants::compares_not, plants::waits_not, plants::cancels_not, plants::takes_blindly})
    EXPECT_TRUE(model::explore("reuse, planted", {}, two_lives(what)).failed);
}

}  // namespace
