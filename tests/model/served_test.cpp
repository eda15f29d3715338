// A waiter that was served may destroy the object at once, of each kind of waiter.
//
// The claim (served_claim.hpp), the list and its lock are real. What wait.hpp, src/wait/wait.cpp and
// basic_wait_queue.hpp do around them is mirrored. The frame of a wait and the object end at the first moment
// that is allowed: the waiter destroys the object when its wait has ended, or the waker when its call has.
#include "sennit/detail/sched/served_claim.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"
#include "sennit/detail/sync/low_lock_waiters.hpp"

namespace {

using namespace sennit::detail;

enum class kind { plain, stackless, deadline, stackless_deadline, os_thread, select, in_scope };
constexpr std::array all_kinds{kind::plain,     kind::stackless, kind::deadline, kind::stackless_deadline,
                               kind::os_thread, kind::select};
constexpr std::array names{"plain", "stackless", "deadline", "stackless deadline", "OS thread", "select"};

bool has_claim(kind of) {
  return of != kind::plain && of != kind::stackless;
}
// Two preemptions show each of the planted bugs.
const model::options bounded{.bound = std::min(2U, model::default_bound())};

enum class plants {
  nothing,
  touches_again,        // a served waiter: it takes the object's lock to leave the list
  leaves_at_once,       // a served waiter: it does not wait until it is let go
  delivers_under_lock,  // a waker
  looks_back,           // a waker: it touches the frame of the wait that it has let go
  stops_unclaimed,      // a scope's stop: it looks for the fiber in the object's list
};

using served_claim = basic_served_claim<model::memory>;

// Like a scope_member.
struct member {
  void lock() {
    while (locked.load(std::memory_order_relaxed) || locked.exchange(true, std::memory_order_acquire))
      model::memory::yield_thread();
  }
  void unlock() { locked.store(false, std::memory_order_release); }
  model::atomic<bool> locked{false};
  basic_claim<model::memory> claim;
  model::plain<bool> waits{false};
  model::plain<bool> stopped{false};
};
// Type-stable: it outlives every wait.
struct descriptor : fiber {
  model::gate woken;
  member* in_scope = nullptr;
};
// Like a multi_wait.
struct frame;
struct place : waiter {
  frame* of = nullptr;
  std::uint32_t number = 0;
};
struct frame {
  explicit frame(descriptor& waits, bool thread = false) : who(waits) {
    if (thread)
      claim.set_sleeps();
    for (place& each : places) {
      each.flags.kind = waiter_kind::multi;
      each.of = this;
      each.number = static_cast<std::uint32_t>(&each - places.data());
    }
  }
  descriptor& who;
  served_claim claim;
  std::array<place, 2> places;
};

class watched_waiters : public basic_low_lock_waiters<model::memory> {
public:
  using basic_low_lock_waiters::basic_low_lock_waiters;
  ~watched_waiters() { touched_ = -1; }
  waiter_list& list() noexcept {
    touched_ = touched_ + 1;
    return basic_low_lock_waiters::list();
  }
  void push(waiter& w) noexcept { list_push_back(list(), w); }
  void unlock(state now, bool changed) noexcept {
    touched_ = touched_ + 1;
    basic_low_lock_waiters::unlock(now, changed);
  }

private:
  model::plain<int> touched_{0};
};

struct wakes {
  using waiters = watched_waiters;
  // Each thread's list.
  static inline std::array<served_claim*, 5> taken;
  static inline model::gate* sleeping = nullptr;  // the kernel's, for the word on which a thread sleeps
  static inline plants what = plants::nothing;

  static bool take(waiter& w, std::uintptr_t, fiber*& who) noexcept {
    who = nullptr;
    w.next = nullptr;
    if (w.flags.kind == waiter_kind::scope_fiber) {
      if (static_cast<descriptor&>(w).in_scope->claim.take(claim_state::taken) == claim_result::lost)
        return false;
      w.flags.kind = waiter_kind::fiber;
    }
    if (w.flags.kind != waiter_kind::multi) {
      who = static_cast<fiber*>(&w);
      return true;
    }
    const auto& at = static_cast<const place&>(w);
    descriptor& waits = at.of->who;
    const claim_result result = at.of->claim.serve(taken_at(at.number), taken[machine_thread()]);
    if (result == claim_result::won)
      who = &waits;
    return result != claim_result::lost;
  }
  static void make_ready(fiber* who) noexcept {
    if (who != nullptr) {
      static_cast<descriptor*>(who)->woken.signal();
      return;
    }
    served_claim* const last = taken[machine_thread()];
    served_claim::release(taken[machine_thread()], [](auto&) { sleeping->signal(); });
    if (what == plants::looks_back && last != nullptr)
      static_cast<void>(last->state());
  }
  static void make_all_ready(fiber_chain&) noexcept {}
  static unsigned machine_thread() noexcept { return model::machine::now->running(); }
};

// Counts the grants made while there was no waiter.
class object : public basic_wait_queue<wakes> {
public:
  bool enter(waiter& me) {
    const auto decide = [](state& now) { return now != 0 && now-- != 0; };
    return basic_wait_queue::enter(me, decide);
  }
  // Returns whether a waiter was served.
  bool give(plants what) {
    fiber* who = nullptr;
    bool served = false;
    {
      guard hold(*this);
      served = hold.pop(0, who);
      if (!served)
        hold.set(hold.get() + 1);
      if (what == plants::delivers_under_lock)
        make_ready(std::exchange(who, nullptr));
    }
    make_ready(who);
    return served;
  }
  bool leave(waiter& me) noexcept {
    const guard hold(*this);
    if (me.next == nullptr)
      return false;
    me.leave_list();
    me.next = nullptr;
    return true;
  }
};

// A deadline: takes the claim at any moment until it is cancelled.
class timer {
public:
  void arm(frame& of) { change(&of); }
  void cancel() { change(nullptr); }
  void fire() {
    lock();
    frame* const due = due_;
    due_ = nullptr;
    descriptor* const who = due != nullptr ? &due->who : nullptr;
    const claim_result result = due != nullptr ? due->claim.take(claim_state::timed_out) : claim_result::lost;
    unlock();
    if (result == claim_result::won)
      who->woken.signal();
  }

private:
  void change(frame* to) {
    lock();
    due_ = to;
    unlock();
  }
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire))
      model::memory::yield_thread();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }
  model::atomic<bool> taken_{false};
  model::plain<frame*> due_{nullptr};
};

enum class destroyer { waiter, waker };

struct scene {
  scene(plants planted, destroyer by) : what(planted), destroys(by) {
    for (std::optional<object>& each : objects)
      each.emplace();
    wakes::taken = {};
    wakes::sleeping = &asleep;
    wakes::what = planted;
  }
  const plants what;
  const destroyer destroys;
  std::array<std::optional<object>, 2> objects;
  std::optional<frame> wait;
  descriptor me;
  timer deadline;
  model::gate asleep;
  std::optional<member> of_scope;

  object& first() { return *objects[0]; }
  void served(unsigned number = 0) {
    if (destroys == destroyer::waiter)
      objects[number].reset();
  }
  void give() {
    if (first().give(what) && destroys == destroyer::waker)
      objects[0].reset();
  }

  // The wait has ended. Returns whether it was served.
  bool ended(unsigned number = 0) {
    if (what == plants::leaves_at_once ? is_taken(wait->claim.state()) : wait->claim.was_served()) {
      if (what == plants::touches_again)
        objects[number]->leave(wait->places[number]);
      served(number);
      return true;
    }
    objects[number]->leave(wait->places[number]);
    return false;
  }

  void plain() {
    if (first().enter(me))
      me.woken.wait();
    if (what == plants::touches_again)
      first().leave(me);
    served();
  }
  void with_deadline() {
    if (!first().enter(wait.emplace(me).places[0]))
      return;
    deadline.arm(*wait);
    if (wait->claim.park())
      me.woken.wait();
    deadline.cancel();
    ended();
    wait.reset();
  }
  void os_thread() {
    if (!first().enter(wait.emplace(me, true).places[0]))
      return;
    while (wait->claim.state() == claim_state::open)
      if (!asleep.wait(model::patience::short_enough))
        wait->claim.take(claim_state::timed_out);
    ended();
    wait.reset();
  }
  void select() {
    wait.emplace(me);
    {
      object::guard one(*objects[0]);
      object::guard other(*objects[1]);
      if (one.get() + other.get() != 0)
        return;
      one.push(wait->places[0]);
      other.push(wait->places[1]);
    }
    if (wait->claim.park())
      me.woken.wait();
    const std::uint32_t number = place_of(wait->claim.state());
    MODEL_CHECK(ended(number));
    objects[1 - number]->leave(wait->places[1 - number]);
    wait.reset();
  }

  // A fiber that files itself without a stack continues on another thread, unless its wait has ended.
  void file_stackless() {
    if (!first().enter(me))
      me.woken.signal();
  }
  void continue_stackless() {
    me.woken.wait();
    if (what == plants::touches_again)
      first().leave(me);
    served();
  }
  // As above, in a scope that a third thread stops.
  void file_in_scope() {
    member& mine = *me.in_scope;
    mine.lock();
    mine.claim.begin_parked();
    me.flags.kind = waiter_kind::scope_fiber;
    const bool waits = first().enter(me);
    if (!waits)
      me.flags.kind = waiter_kind::fiber;
    mine.waits = waits;
    mine.unlock();
    if (!waits)
      me.woken.signal();
  }
  void continue_in_scope() {
    me.woken.wait();
    member& mine = *me.in_scope;
    mine.lock();
    mine.waits = false;
    const bool stopped = mine.stopped;
    mine.unlock();
    MODEL_CHECK(me.flags.kind == waiter_kind::fiber);
    if (!stopped)
      served();
  }
  void stop_scope() {
    member& mine = *me.in_scope;
    mine.lock();
    bool ended = mine.waits && (what == plants::stops_unclaimed || mine.claim.withdraw());
    if (ended) {
      const bool left = first().leave(me);
      ended = left || what != plants::stops_unclaimed;
    }
    if (ended) {
      me.flags.kind = waiter_kind::fiber;
      mine.waits = false;
      mine.stopped = true;
    }
    mine.unlock();
    if (ended)
      me.woken.signal();
  }
  void file_with_deadline() {
    wait.emplace(me);
    if (!first().enter(wait->places[0])) {
      wait.reset();
      me.woken.signal();
      return;
    }
    deadline.arm(*wait);
    if (!wait->claim.park())
      me.woken.signal();
  }
  void continue_with_deadline() {
    me.woken.wait();
    if (!wait)
      return;
    deadline.cancel();
    ended();
    wait.reset();
  }
};

auto wait_and_give(kind of, destroyer by, plants what = plants::nothing) {
  return [=](model::run& run) {
    scene it(what, by);
    const auto threads = [&](auto... each) { (run.thread([&it, each] { std::invoke(each, it); }), ...); };
    switch (of) {
      case kind::plain:
        threads(&scene::plain);
        break;
      case kind::stackless:
        threads(&scene::file_stackless, &scene::continue_stackless);
        break;
      case kind::deadline:
        threads(&scene::with_deadline, [](scene& s) { s.deadline.fire(); });
        break;
      case kind::stackless_deadline:
        threads(&scene::file_with_deadline, &scene::continue_with_deadline,
                [](scene& s) { s.deadline.fire(); });
        break;
      case kind::os_thread:
        threads(&scene::os_thread);
        break;
      case kind::select:
        threads(&scene::select);
        break;
      case kind::in_scope:
        it.me.in_scope = &it.of_scope.emplace();
        threads(&scene::file_in_scope, &scene::continue_in_scope, &scene::stop_scope);
        break;
    }
    threads(&scene::give);
    run.join();
  };
}

// Explores each kind of waiter and each destroyer: `judge(report)`.
template <class Judge>
void explore_each(const std::string& what, plants planted, std::vector<destroyer> by, Judge judge) {
  for (std::size_t each = 0; each < all_kinds.size(); ++each)
    for (const destroyer who : by) {
      const std::string name =
          what + ", " + names[each] + (who == destroyer::waiter ? ", by the waiter" : ", by the waker");
      SCOPED_TRACE(name);
      judge(all_kinds[each], model::explore(name, bounded, wait_and_give(all_kinds[each], who, planted)));
    }
}

void is_found(const model::report& r) {
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.find("destroyed") != std::string::npos || r.failure.starts_with("data race")) << r;
}

TEST(served, the_object_may_be_destroyed) {
  explore_each("destroyed", plants::nothing, {destroyer::waiter, destroyer::waker},
               [](kind, const model::report& r) { EXPECT_FALSE(r.failed) << r; });
}

TEST(served, a_waiter_that_touches_the_object_again_is_found) {
  explore_each("touches again", plants::touches_again, {destroyer::waker},
               [](kind, const model::report& r) { is_found(r); });
}

TEST(served, a_delivery_under_the_lock_is_found) {
  explore_each("delivers under the lock", plants::delivers_under_lock, {destroyer::waiter},
               [](kind, const model::report& r) { is_found(r); });
}

TEST(served, a_waiter_that_does_not_wait_until_it_is_let_go_is_found) {
  explore_each("leaves at once", plants::leaves_at_once, {destroyer::waiter},
               [](kind of, const model::report& r) {
                 if (has_claim(of))
                   is_found(r);
                 else
                   EXPECT_FALSE(r.failed) << r;
               });
}

TEST(served, a_waker_that_touches_the_wait_again_is_found) {
  explore_each("looks back", plants::looks_back, {destroyer::waiter}, [](kind of, const model::report& r) {
    if (has_claim(of))
      is_found(r);
    else
      EXPECT_FALSE(r.failed) << r;
  });
}

TEST(served, a_stop_of_a_scope_may_meet_the_wake) {
  for (const destroyer by : {destroyer::waiter, destroyer::waker}) {
    const model::report r =
        model::explore(by == destroyer::waiter ? "in a scope, by the waiter" : "in a scope, by the waker",
                       bounded, wait_and_give(kind::in_scope, by));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(served, a_stop_that_does_not_take_the_claim_is_found) {
  is_found(model::explore("stops unclaimed", bounded,
                          wait_and_give(kind::in_scope, destroyer::waker, plants::stops_unclaimed)));
}

TEST(served, each_order_matters) {
  const model::weakened w = model::weaken_each("destroyed, deadline", "served_claim.hpp", bounded,
                                               wait_and_give(kind::deadline, destroyer::waiter));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

}  // namespace
