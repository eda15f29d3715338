// An owner that pushes and pops while others steal: each item is taken once, in order, and none is lost.
#include "sennit/detail/sched/work_ring.hpp"

#include <tuple>
#include <vector>

#include "model.hpp"

namespace {

// What the owner does, one letter an operation: push, pop (until none is left at the end).
template <class Memory = model::memory>
auto owner_and_thieves(const char* owner, unsigned thieves, int before) {
  return [=](model::run& run) {
    sennit::detail::work_ring<int, 4, Memory> r;
    std::vector<model::plain<int>> taken(
        8);  // by number: who takes one that was taken, or unordered, is found
    int pushed = 0;
    int in_all = 0;
    const auto take = [&](int item) {
      MODEL_CHECK(item >= 1 && item <= 8);
      MODEL_CHECK(taken[item - 1] == 0);
      taken[item - 1] = 1;
      ++in_all;
    };
    while (pushed < before)
      MODEL_CHECK(r.push(++pushed));
    run.thread([&] {
      int last = 0;
      const auto pop = [&] {
        const int item = r.pop();
        if (item == 0)
          return false;
        MODEL_CHECK(item > last);
        last = item;
        take(item);
        return true;
      };
      for (const char* what = owner; *what != '\0'; ++what) {
        if (*what == '-')
          pop();
        else if (r.push(pushed + 1))
          ++pushed;
      }
      while (pop()) {
      }
    });
    for (unsigned t = 0; t < thieves; ++t)
      run.thread([&] {
        int last = 0;
        r.steal_half([&](int item) {
          MODEL_CHECK(item > last);
          last = item;
          take(item);
        });
      });
    run.join();
    MODEL_CHECK(in_all == pushed);
    MODEL_CHECK(r.pop() == 0);
  };
}

TEST(work_ring, each_item_is_taken_once) {
  const unsigned bound = model::default_bound();
  for (const auto& [name, owner, thieves, before, within] :
       {std::tuple{"work ring, pops", "---", 1U, 3, bound + 1},
        {"work ring, pushes and pops", "-+-+-", 1U, 3, bound},
        {"work ring, full and round", "+-+++--", 1U, 4, bound},
        {"work ring, 2 thieves", "-+-", 2U, 4, bound},
        {"work ring, 3 thieves", "-", 3U, 4, 1U}}) {
    const model::report r =
        model::explore(name, {.bound = within}, owner_and_thieves(owner, thieves, before));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(work_ring, each_order_matters) {
  const model::weakened w =
      model::weaken_each("work ring, 2 thieves behind pushes", "work_ring.hpp",
                         {.bound = model::default_bound() - 1}, owner_and_thieves("-++-", 2, 3));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  // Of a thief that takes the steal word, and of one that gives it back unused. The heavy fence between the
  // two acquires and releases as well, here; where it is a membarrier nobody promises that.
  EXPECT_EQ(w.survivors,
            (std::vector<std::string>{"update: acquire -> relaxed", "store: release -> relaxed"}));
}

TEST(work_ring, without_the_fences_an_item_is_taken_twice) {
  struct no_light : model::memory {
    static void light_fence() {}
  };
  struct no_heavy : model::memory {
    static void heavy_fence() {}
  };
  const model::report light =
      model::explore("work ring, no light fence", {}, owner_and_thieves<no_light>("---", 1, 3));
  EXPECT_TRUE(light.failed);
  const model::report heavy =
      model::explore("work ring, no heavy fence", {}, owner_and_thieves<no_heavy>("---", 1, 3));
  EXPECT_TRUE(heavy.failed);
}

}  // namespace
