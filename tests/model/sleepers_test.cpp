// Workers that sleep when there is no work, and threads that make some.
#include "sennit/detail/parallel/sleepers.hpp"

#include <tuple>

#include "model.hpp"

namespace {

enum class looks { again, not_again };

// Each piece of work ends one worker: when all work is done, no worker is left asleep.
auto workers_and_makers(unsigned workers, unsigned makers, looks how) {
  return [=](model::run& run) {
    sennit::detail::sleepers<model::memory> s;
    model::gate drivers[2];
    model::atomic<unsigned> work{0};
    for (unsigned w = 0; w < workers; ++w)
      run.thread([&, w] {
        for (;;) {
          unsigned pieces = work.load(std::memory_order_relaxed);
          while (pieces != 0)
            if (work.compare_exchange_weak(pieces, pieces - 1, std::memory_order_acquire,
                                           std::memory_order_relaxed))
              return;
          s.mark_asleep(w);
          if (how == looks::not_again || work.load(std::memory_order_relaxed) == 0)
            drivers[w].wait();
          s.mark_awake(w);
        }
      });
    for (unsigned m = 0; m < makers; ++m)
      run.thread([&, m] {
        for (unsigned piece = m; piece < workers; piece += makers) {
          work.fetch_add(1, std::memory_order_release);
          if (const unsigned w = s.choose(); w != s.none)
            drivers[w].signal();
        }
      });
    run.join();
    MODEL_CHECK(work.load(std::memory_order_relaxed) == 0);
  };
}

TEST(sleepers, no_work_is_slept_through) {
  const unsigned bound = model::default_bound();
  for (const auto& [name, workers, makers, within] : {std::tuple{"sleepers, 1 worker", 1U, 1U, bound + 1},
                                                      {"sleepers, 2 workers", 2U, 1U, bound},
                                                      {"sleepers, 2 workers, 2 makers", 2U, 2U, bound - 1}}) {
    const model::report r =
        model::explore(name, {.bound = within}, workers_and_makers(workers, makers, looks::again));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(sleepers, each_order_matters) {
  const model::weakened w =
      model::weaken_each("sleepers, 2 workers", "sleepers.hpp", {}, workers_and_makers(2, 1, looks::again));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.tried, 3U);
  // mark_awake(): here no operation comes after a later one of its thread. tests/weak_memory/sleepers.cpp
  // needs it.
  EXPECT_EQ(w.survivors, std::vector<std::string>{"update: acquire -> relaxed"});
}

TEST(sleepers, a_lost_wake_is_found) {
  const model::report r =
      model::explore("sleepers, no second look", {}, workers_and_makers(1, 1, looks::not_again));
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.starts_with("deadlock: thread 1 waits")) << r;
}

}  // namespace
