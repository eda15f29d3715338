// The wait queue's word, as a mutex uses it: one thread at a time is inside, every waiter is woken, and the
// last one may destroy the object at once.
#include "sennit/detail/sync/low_lock_waiters.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"
#include "sennit/detail/sync/mutex_word.hpp"

namespace {

using namespace sennit::detail;

// Only the lock's holder may use the list.
class watched_waiters : public basic_low_lock_waiters<model::memory> {
public:
  using basic_low_lock_waiters::basic_low_lock_waiters;
  waiter_list& list() noexcept {
    touched_ = touched_ + 1;
    return basic_low_lock_waiters::list();
  }
  void push(waiter& w) noexcept { list_push_back(list(), w); }

private:
  model::plain<int> touched_{0};
};

struct sleeper : fiber {
  model::gate woken;
};

struct gates {
  using waiters = watched_waiters;
  static bool take(waiter& w, std::uintptr_t word, fiber*& who) noexcept {
    w.word = word;
    who = static_cast<fiber*>(&w);
    return true;
  }
  static void make_ready(fiber* who) noexcept {
    if (who != nullptr)
      static_cast<sleeper*>(who)->woken.signal();
  }
  static void make_all_ready(fiber_chain&) noexcept {}
};

enum class plants { nothing, forgets_waiters, wakes_before_it_lets_go };

// The mutex (mutex_word.hpp) around gates, barging or fair.
class lock : basic_wait_queue<gates> {
  using word = mutex_word<lock>;
  friend word;

public:
  lock(bool fair, plants what, bool fresh = false)
      : basic_wait_queue(fresh ? word::fresh : word::unlocked), fair_(fair), plants_(what) {}

  void take(sleeper& me) {
    if (word::quick_lock(*this))
      return;
    word::wait_until_taken(fair_, [&](auto decide) {
      if (enter(me, decide))
        me.woken.wait();
      return true;
    });
  }

  void give() {
    if (word::quick_unlock(*this))
      return;
    const bool fair = fair_;
    fiber* who = nullptr;
    {
      guard hold(*this);
      if (plants_ == plants::forgets_waiters)
        hold.set(word::unlocked);
      else
        word::pass_on(hold, fair, false, who);
      if (plants_ == plants::wakes_before_it_lets_go)
        make_ready(std::exchange(who, nullptr));
    }
    make_ready(who);
  }

private:
  const bool fair_;
  const plants plants_;
};

auto one_at_a_time(int threads, int times, bool fair, plants what = plants::nothing) {
  return [=](model::run& run) {
    std::optional<lock> shared(std::in_place, fair, what, threads == 2);
    model::plain<int> inside{0};
    sleeper all[3];
    for (int i = 0; i < threads; ++i)
      run.thread([&, me = &all[i]] {
        for (int n = 0; n < times; ++n) {
          shared->take(*me);
          inside = inside + 1;
          shared->give();
        }
      });
    run.join();
    MODEL_CHECK(inside == threads * times);
  };
}

// Two threads lock it once each; the second destroys it when it owns it.
auto the_last_destroys_it(plants what) {
  return [=](model::run& run) {
    std::optional<lock> shared(std::in_place, true, what);
    sleeper waits;
    sleeper holds;
    shared->take(holds);
    run.thread([&] { shared->give(); });
    run.thread([&] {
      shared->take(waits);
      shared.reset();
    });
    run.join();
  };
}

TEST(low_lock_waiters, lets_in_one_at_a_time_and_forgets_nobody) {
  for (const bool fair : {false, true}) {
    const std::string how = fair ? "wait queue, fair" : "wait queue, barging";
    const model::report two = model::explore(how + ", 2 threads", {}, one_at_a_time(2, 2, fair));
    EXPECT_FALSE(two.failed) << two;
    const model::report three = model::explore(how + ", 3 threads", {}, one_at_a_time(3, 1, fair));
    EXPECT_FALSE(three.failed) << three;
  }
}

TEST(low_lock_waiters, each_order_matters) {
  const model::weakened w =
      model::weaken_each("wait queue, 3 threads", "low_lock_waiters.hpp", {}, one_at_a_time(3, 1, false));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

TEST(low_lock_waiters, the_store_that_lets_go_is_the_last_access) {
  const model::report r = model::explore("wait queue, destroyed", {}, the_last_destroys_it(plants::nothing));
  EXPECT_FALSE(r.failed) << r;
  const model::report early = model::explore("wait queue, woken too early", {},
                                             the_last_destroys_it(plants::wakes_before_it_lets_go));
  EXPECT_TRUE(early.failed);
  EXPECT_NE(early.failure.find("destroyed"), std::string::npos) << early;
}

TEST(low_lock_waiters, a_lost_wake_is_found) {
  const model::report r =
      model::explore("wait queue, forgets", {}, one_at_a_time(2, 1, false, plants::forgets_waiters));
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.starts_with("deadlock")) << r;
}

}  // namespace
