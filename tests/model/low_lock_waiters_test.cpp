// The wait queue's word, as a mutex uses it: one thread at a time is inside, every waiter is woken, and the
// last one may destroy the object at once.
#include "sennit/detail/sync/low_lock_waiters.hpp"

#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "mutex.hpp"

namespace {

using namespace sennit::detail;

using model::plants;
using model::sleeper;
using lock = model::mutex<basic_low_lock_waiters<model::memory>>;

auto one_at_a_time(int threads, int times, bool fair, plants what = plants::nothing) {
  return [=](model::run& run) {
    std::optional<lock> shared(std::in_place, fair, what,
                               threads == 2 ? lock::word::fresh : lock::word::unlocked);
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
    std::optional<lock> shared(std::in_place, true, what, lock::word::unlocked);
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
