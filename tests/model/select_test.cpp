// Selects that are each other's peers, and looks at a channel without its lock.
//
// The set of locks (lock_set.hpp) and the claim (served_claim.hpp) are real. What select_one.hpp, wait.cpp
// and basic_channel.hpp do around them is mirrored.
#include <array>
#include <cstdint>

#include "model.hpp"
#include "sennit/detail/sched/served_claim.hpp"
#include "sennit/detail/sync/lock_set.hpp"

namespace {

using namespace sennit::detail;
using served_claim = basic_served_claim<model::memory>;

enum class plants {
  nothing,
  own_order,     // the locks are taken in the order of the cases
  keeps_twice,   // the lock of a channel in two cases is taken twice
  enters_early,  // a case is entered before the others were tried
  closed_first,  // a look at the flag comes before that at the buffer
  relaxed_look,  // a look that lets later ones go before
};

struct spin {
  void lock() {
    while (held.exchange(true, std::memory_order_acquire))
      model::memory::yield_thread();
  }
  void unlock() { held.store(false, std::memory_order_release); }
  model::atomic<bool> held{false};
};
struct lock_of {
  void lock() const { of->lock(); }
  void unlock() const { of->unlock(); }
  const void* at() const { return of; }
  spin* of = nullptr;
};

struct selecting;
struct node {
  selecting* of = nullptr;
  std::uint32_t number = 0;
};
// Two selects use it, and neither waits in two lists of one side.
struct channel {
  spin lock;
  model::plain<node*> sender{nullptr};
  model::plain<node*> receiver{nullptr};
};
struct a_case {
  channel* at;
  bool sends;
  model::plain<node*>& peer() const { return sends ? at->receiver : at->sender; }
  model::plain<node*>& own() const { return sends ? at->sender : at->receiver; }
};

struct selecting {
  using case_pair = std::array<a_case, 2>;
  selecting(case_pair of, plants planted) : cases(of), what(planted) {}

  // Under the lock.
  bool attempt(const a_case& tried) {
    node* const peer = tried.peer();
    if (peer == nullptr)
      return false;
    if (peer->of == this)
      return false;  // a case of its own, which was entered early
    tried.peer() = nullptr;
    const claim_result result = peer->of->claim.serve(taken_at(peer->number), taken);
    if (result == claim_result::won)
      wakes = peer->of;
    if (result != claim_result::lost)
      ++transfers;
    return result != claim_result::lost;
  }
  void wake() {
    served_claim::release(taken, [](auto&) {});
    if (wakes != nullptr)
      wakes->woken.signal();
  }
  void enter(std::uint32_t number) {
    nodes[number] = {this, number};
    cases[number].own() = &nodes[number];
  }
  bool attempt_ready() {
    for (const a_case& each : cases) {
      each.at->lock.lock();
      const bool done = attempt(each);
      each.at->lock.unlock();
      if (done)
        return true;
    }
    return false;
  }
  // Returns whether a case was done; otherwise all are entered.
  bool attempt_or_enter() {
    std::array<lock_of, 2> places;
    basic_lock_set<lock_of> locks(places.data());
    for (const a_case& each : cases)
      locks.add({&each.at->lock});
    locks.lock();
    bool done = false;
    for (const a_case& each : cases)
      done = done || attempt(each);
    for (std::uint32_t i = 0; i < 2 && !done; ++i)
      enter(i);
    return done;
  }
  bool attempt_or_enter_wrongly() {
    if (what == plants::enters_early) {
      for (std::uint32_t i = 0; i < 2; ++i) {
        cases[i].at->lock.lock();
        const bool done = attempt(cases[i]);
        if (!done)
          enter(i);
        cases[i].at->lock.unlock();
        if (done)
          return true;
      }
      return false;
    }
    for (const a_case& each : cases)
      each.at->lock.lock();
    bool done = false;
    for (const a_case& each : cases)
      done = done || attempt(each);
    for (std::uint32_t i = 0; i < 2 && !done; ++i)
      enter(i);
    for (const a_case& each : cases)
      each.at->lock.unlock();
    return done;
  }

  void run() {
    if (attempt_ready() || (what == plants::nothing ? attempt_or_enter() : attempt_or_enter_wrongly())) {
      wake();
      return;
    }
    if (claim.park())
      woken.wait();
    MODEL_CHECK(claim.was_served());
    const std::uint32_t other = 1 - place_of(claim.state());
    if (cases[0].at == cases[1].at)
      return;  // the waker has taken it out
    cases[other].at->lock.lock();
    if (cases[other].own() == &nodes[other])
      cases[other].own() = nullptr;
    cases[other].at->lock.unlock();
  }

  const case_pair cases;
  const plants what;
  served_claim claim;
  model::gate woken;
  std::array<node, 2> nodes;
  served_claim* taken = nullptr;
  selecting* wakes = nullptr;
  int transfers = 0;
};

// Each offers to send in one channel and to receive in the other one.
auto meet(plants what) {
  return [=](model::run& run) {
    channel x, y;
    selecting one({a_case{&x, true}, a_case{&y, false}}, what);
    selecting other({a_case{&y, true}, a_case{&x, false}}, what);
    run.thread([&] { one.run(); });
    run.thread([&] { other.run(); });
    run.join();
    MODEL_CHECK(one.transfers + other.transfers == 1);
  };
}

TEST(select, two_selects_meet_once) {
  const model::report r = model::explore("two selects meet", {}, meet(plants::nothing));
  EXPECT_FALSE(r.failed) << r;
}

TEST(select, locks_in_the_order_of_the_cases_are_found) {
  EXPECT_TRUE(model::explore("in their own order", {}, meet(plants::own_order)).failed);
}

TEST(select, a_case_that_is_entered_early_is_found) {
  EXPECT_TRUE(model::explore("entered early", {}, meet(plants::enters_early)).failed);
}

// A select whose cases are of one channel, and a sender.
auto twice(plants what) {
  return [=](model::run& run) {
    channel x, y;
    selecting one({a_case{&x, false}, a_case{&x, false}}, what);
    selecting other({a_case{&x, true}, a_case{&y, true}},
                    what == plants::keeps_twice ? plants::nothing : what);
    run.thread([&] { one.run(); });
    run.thread([&] { other.run(); });
    run.join();
    MODEL_CHECK(one.transfers + other.transfers == 1);
  };
}

TEST(select, a_channel_in_two_cases_is_locked_once) {
  const model::report r = model::explore("one channel twice", {}, twice(plants::nothing));
  EXPECT_FALSE(r.failed) << r;
}

TEST(select, a_lock_that_is_taken_twice_is_found) {
  EXPECT_TRUE(model::explore("locked twice", {}, twice(plants::keeps_twice)).failed);
}

// A channel with a value is closed, and then the value is taken: at every moment a receive need not wait. The
// unlock of the first and the lock of the second order the two stores for other threads (on all CPUs, though
// not for the model, for which the stores have that order).
auto look(plants what) {
  return [=](model::run& run) {
    model::atomic<unsigned> size{1};
    model::atomic<bool> closed{false};
    run.thread([&] {
      closed.store(true, std::memory_order_relaxed);
      size.store(0, std::memory_order_release);
    });
    run.thread([&] {
      const auto filled = [&] {
        return size.load(what == plants::relaxed_look ? std::memory_order_relaxed
                                                      : std::memory_order_acquire) != 0;
      };
      const auto is_closed = [&] { return closed.load(std::memory_order_acquire); };
      const bool ready = what == plants::closed_first ? is_closed() || filled() : filled() || is_closed();
      MODEL_CHECK(ready);
    });
    run.join();
  };
}

TEST(select, a_look_without_the_lock_sees_a_channel_that_is_always_ready) {
  const model::report r = model::explore("look", {}, look(plants::nothing));
  EXPECT_FALSE(r.failed) << r;
}

TEST(select, a_look_in_another_order_is_found) {
  EXPECT_TRUE(model::explore("look at the flag first", {}, look(plants::closed_first)).failed);
  EXPECT_TRUE(model::explore("relaxed look", {}, look(plants::relaxed_look)).failed);
}

}  // namespace
