// A worker that sleeps and the threads that post to it (sched/worker.cpp: idle, worker_post).
#include "sennit/detail/sched/inbox.hpp"

#include <tuple>

#include "model.hpp"

namespace {

struct post {
  model::plain<post*> next = nullptr;
  model::plain<int> number = 0;
};

using inbox = sennit::detail::inbox<post, model::memory>;

// What the worker does otherwise than it should: the planted bugs that are no order.
enum class worker_does { all_of_it, not_look_again, look_too_early };

auto posters(int threads, int posts_each, worker_does what = worker_does::all_of_it) {
  return [=](model::run& run) {
    inbox in;
    model::gate driver;
    post posts[4];
    run.thread([&, total = threads * posts_each] {
      int last[3] = {};
      int got = 0;
      in.mark_awake();
      for (;;) {
        if (!in.empty()) {
          for (post* p = in.take(); p != nullptr;) {
            post* const next = p->next;
            const int number = p->number;
            MODEL_CHECK(number > 0);
            MODEL_CHECK(number % 10 == last[number / 10] + 1);  // each thread's in its order
            last[number / 10] = number % 10;
            p->number = 0;  // it disposes of itself
            ++got;
            p = next;
          }
        }
        if (got == total)
          return;
        const bool early = what != worker_does::look_too_early || in.still_empty();
        in.mark_asleep();
        if (what == worker_does::all_of_it ? in.still_empty() : early)
          driver.wait();
        in.mark_awake();
      }
    });
    for (int t = 0; t < threads; ++t)
      run.thread([&, t] {
        for (int i = 0; i < posts_each; ++i) {
          post& p = posts[t * posts_each + i];
          p.number = 10 * t + i + 1;
          if (in.push(&p))
            driver.signal();
        }
      });
    run.join();
    MODEL_CHECK(in.empty());
  };
}

TEST(inbox, every_post_runs_and_none_sleeps_through) {
  const unsigned bound = model::default_bound();
  for (const auto& [name, threads, posts, within] : {std::tuple{"inbox, 1 thread posts 2", 1, 2, bound},
                                                     {"inbox, 2 threads post", 2, 1, bound},
                                                     {"inbox, 2 threads post 2", 2, 2, bound - 1},
                                                     {"inbox, 3 threads post", 3, 1, bound - 1}}) {
    const model::report r = model::explore(name, {.bound = within}, posters(threads, posts));
    EXPECT_FALSE(r.failed) << r;
  }
}

// A worker that is stuck, and others that take the fibers sent to it.
auto takers(int posts_each) {
  return [=](model::run& run) {
    inbox in;
    post posts[4];
    const auto take = [&] {
      for (post* p = in.take(); p != nullptr;) {
        post* const next = p->next;
        p->number = p->number + 1;
        p = next;
      }
    };
    for (int t = 0; t < 2; ++t)
      run.thread([&, t] {
        for (int i = 0; i < posts_each; ++i)
          static_cast<void>(in.push(&posts[t * posts_each + i]));
        take();
      });
    run.thread(take);
    run.join();
    take();
    for (int i = 0; i < 2 * posts_each; ++i)
      MODEL_CHECK(posts[i].number == 1);
  };
}

TEST(inbox, each_post_is_had_by_one_taker) {
  const unsigned bound = model::default_bound();
  for (const auto& [name, posts, within] :
       {std::tuple{"inbox, 3 take 2 posts", 1, bound}, {"inbox, 3 take 4 posts", 2, bound - 1}}) {
    const model::report r = model::explore(name, {.bound = within}, takers(posts));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(inbox, each_order_matters) {
  const model::weakened w = model::weaken_each("inbox, 2 threads post", "inbox.hpp", {}, posters(2, 1));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.tried, 9U);
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

TEST(inbox, lost_wakes_are_found) {
  for (const auto& [name, what] : {std::pair{"inbox, no second look", worker_does::not_look_again},
                                   {"inbox, second look too early", worker_does::look_too_early}}) {
    const model::report r = model::explore(name, {}, posters(1, 1, what));
    EXPECT_TRUE(r.failed);
    EXPECT_TRUE(r.failure.starts_with("deadlock: thread 1 waits")) << r;
  }
}

}  // namespace
