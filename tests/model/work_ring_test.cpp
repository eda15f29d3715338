// An owner that pushes and pops while others steal: each item is taken once, none is lost, and none is taken
// before its context is there. If the owner takes only the oldest, they go in order.
#include "sennit/detail/parallel/work_ring.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "model.hpp"
#include "sennit/detail/parallel/sleepers.hpp"

namespace {

// An owner, one letter an operation (at the end it takes the rest):
//   +  pushes an item               s  puts one into the next slot; pushes the one that this displaces
//   -  pops the oldest              t  takes the next slot's occupant
//   <  pops the newest              y  pushes one that is leaving, leaves it, and marks that
//   2  takes the second newest, and 3  the third newest: others that are newer stay
//   r  goes round by one, with a new one: takes the oldest, leaves the new one, and marks that
//   z  puts one into the next slot that is leaving, leaves it, and marks that
// A thief, one letter a theft:
//   h  half                         l  late          (in capitals: without a look before)
//   o  the only one
struct cast {
  const char* owner;
  std::initializer_list<const char*> thieves;
  int before;         // items pushed before
  bool slot = false;  // and one in the next slot
};

template <class Memory>
struct ring : sennit::detail::work_ring<int, 4, Memory> {
  using ring::work_ring::take_half;
  using ring::work_ring::take_late;
  // By the owner's count.
  int seems_newest(std::size_t newer) const {
    return this->owned() > newer ? this->owned_from_newest(newer) : 0;
  }
};

template <class Memory>
class stage {
public:
  explicit stage(const cast& c)
      : contexts_(9), taken_(9), in_order_(std::strpbrk(c.owner, "<23stz") == nullptr) {
    for (int i = 0; i < c.before; ++i)
      push();
    if (c.slot)
      act('s');
  }

  void own(const char* what) {
    for (; *what != '\0'; ++what)
      act(*what);
    while (take(ring_.pop(), last_)) {
    }
    take(ring_.take_next_slot(), last_);
    MODEL_CHECK(ring_.owned() == 0 && ring_.newest() == 0 && !ring_.next_slot_taken());
  }

  void steal(const char* what) {
    int last = 0;
    const auto one = [&](int item) { take(item, last); };
    for (; *what != '\0'; ++what) {
      if (*what == 'h')
        ring_.steal_half(one);
      else if (*what == 'H')
        ring_.take_half(one);
      else if (*what == 'o')
        ring_.steal_lone(one);
      else if (*what == 'l')
        ring_.steal_late(one);
      else
        ring_.take_late(one);
    }
  }

  void end() {
    MODEL_CHECK(in_all_ == made_);
    MODEL_CHECK(ring_.pop() == 0 && ring_.pop_newest() == 0 && ring_.take_next_slot() == 0);
  }

private:
  void act(char what) {
    switch (what) {
      case '+':
        push();
        break;
      case '-':
        take(ring_.pop(), last_);
        break;
      case '<': {
        const int named = ring_.newest();
        const int item = ring_.pop_newest();
        MODEL_CHECK(item == named || item == 0);
        take(item, last_);
        break;
      }
      case '2':
        take_named(ring_.seems_newest(1));
        break;
      case '3':
        take_named(ring_.seems_newest(2));
        break;
      case 's':
        contexts_[++made_] = 1;
        if (const int displaced = ring_.put_next_slot(made_))
          MODEL_CHECK(ring_.push(displaced));
        break;
      case 'z':
        ring_.mark_leaving(made_ + 1);
        if (const int displaced = ring_.put_next_slot(made_ + 1))
          MODEL_CHECK(ring_.push(displaced));
        contexts_[++made_] = 1;
        ring_.clear_leaving();
        break;
      case 't':
        take(ring_.take_next_slot(), last_);
        break;
      case 'r':
        rotate();
        break;
      case 'y':
        ring_.mark_leaving(made_ + 1);
        if (ring_.push(made_ + 1))
          contexts_[++made_] = 1;
        ring_.clear_leaving();
        break;
    }
  }

  void push() {
    contexts_[made_ + 1] = 1;
    if (ring_.push(made_ + 1))
      ++made_;
  }

  void take_named(int item) {
    if (item != 0 && ring_.take(item, 3))
      MODEL_CHECK(take(item, last_));
  }

  void rotate() {
    const int oldest = ring_.rotate(made_ + 1);
    if (oldest == made_ + 1)
      return;
    contexts_[++made_] = 1;
    ring_.clear_leaving();
    MODEL_CHECK(take(oldest, last_));
  }

  bool take(int item, int& last) {
    if (item == 0)
      return false;
    MODEL_CHECK(item >= 1 && item <= 8);
    MODEL_CHECK(contexts_[item] == 1);
    MODEL_CHECK(taken_[item] == 0);
    MODEL_CHECK(!in_order_ || item > last);
    last = item;
    taken_[item] = 1;
    ++in_all_;
    return true;
  }

  ring<Memory> ring_;
  // By number: finds a thread that comes too early, or takes an item twice, or without order.
  std::vector<model::plain<int>> contexts_;
  std::vector<model::plain<int>> taken_;
  bool in_order_;
  int last_ = 0;  // of the owner
  int made_ = 0;
  int in_all_ = 0;
};

template <class Memory = model::memory>
auto play(const cast& c) {
  return [=](model::run& run) {
    stage<Memory> s(c);
    run.thread([&] { s.own(c.owner); });
    for (const char* thief : c.thieves)
      run.thread([&s, thief] { s.steal(thief); });
    run.join();
    s.end();
  };
}

struct exploration {
  const char* name;
  cast who;
  unsigned within;
};

void expect_none_fails(std::initializer_list<exploration> all) {
  for (const exploration& e : all) {
    const model::report r = model::explore(e.name, {.bound = e.within}, play(e.who));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(work_ring, each_item_is_taken_once) {
  const unsigned bound = model::default_bound();
  expect_none_fails({{"work ring, pops", {"---", {"h"}, 3}, bound + 1},
                     {"work ring, pushes and pops", {"-+-+-", {"h"}, 3}, bound},
                     {"work ring, full and round", {"+-+++--", {"h"}, 4}, bound},
                     {"work ring, 2 thieves", {"-+-", {"H", "H"}, 4}, bound},
                     {"work ring, 3 thieves", {"-", {"H", "H", "H"}, 4}, 1}});
}

TEST(work_ring, round) {
  const unsigned bound = model::default_bound();
  expect_none_fails({{"work ring, round", {"rr", {"h"}, 2}, bound + 1},
                     {"work ring, round and pops", {"r-r+", {"h"}, 3}, bound},
                     {"work ring, round, full", {"rr", {"h"}, 4}, bound},
                     {"work ring, round, 2 thieves", {"rr", {"H", "H"}, 4}, bound},
                     {"work ring, round, late", {"rrt", {"l"}, 2, true}, bound}});
}

TEST(work_ring, the_only_one) {
  const unsigned bound = model::default_bound();
  expect_none_fails({{"work ring, the only one", {"-", {"o"}, 1}, bound + 1},
                     {"work ring, the only one, pushed", {"+-+-", {"oo"}, 0}, bound},
                     {"work ring, the only one as the newest", {"+<+<", {"oo"}, 0}, bound},
                     {"work ring, the only one, half", {"<+-", {"o", "H"}, 2}, bound},
                     {"work ring, the only one, late", {"-+<", {"o", "L"}, 1}, bound},
                     {"work ring, the only one, slot", {"ts-", {"oo"}, 1, true}, bound},
                     {"work ring, the only one, round", {"rr", {"oo"}, 1}, bound},
                     {"work ring, the only one, leaving", {"y-y<", {"oo"}, 0}, bound}});
}

TEST(work_ring, both_ends) {
  const unsigned bound = model::default_bound();
  expect_none_fails({{"work ring, pops of the newest", {"<<<", {"h"}, 3}, bound + 1},
                     {"work ring, pops at both ends", {"<+-<+", {"h"}, 3}, bound},
                     {"work ring, newest, 2 thieves", {"<+<", {"H", "H"}, 4}, bound},
                     {"work ring, newest, late", {"<+<", {"l"}, 2}, bound},
                     {"work ring, newest, both thieves", {"<+<", {"H", "L"}, 3}, bound}});
}

TEST(work_ring, one_of_the_newest) {
  const unsigned bound = model::default_bound();
  expect_none_fails({{"work ring, the second newest", {"22", {"h"}, 3}, bound + 1},
                     {"work ring, the second newest and pops", {"2-+2<", {"h"}, 3}, bound},
                     {"work ring, the third newest", {"3+3", {"h"}, 4}, bound},
                     {"work ring, the third newest, 2 thieves", {"3-", {"H", "H"}, 4}, bound},
                     {"work ring, the second newest, the only one", {"2+2", {"oo"}, 2}, bound},
                     {"work ring, the second newest, late", {"2+2", {"l"}, 3}, bound},
                     {"work ring, the third newest, both thieves", {"3+", {"H", "L"}, 3, true}, bound}});
}

TEST(work_ring, slot) {
  const unsigned bound = model::default_bound();
  expect_none_fails({{"work ring, slot", {"sts", {"ll"}, 0}, bound},
                     {"work ring, slot displaced", {"ss-t", {"l"}, 0}, bound},
                     {"work ring, slot and pops", {"-t", {"l"}, 1, true}, bound},
                     {"work ring, slot, 2 thieves", {"ts", {"L", "L"}, 1, true}, bound},
                     {"work ring, slot, both thieves", {"ts<", {"L", "H"}, 3, true}, bound}});
}

TEST(work_ring, who_is_leaving_is_not_taken) {
  const unsigned bound = model::default_bound();
  expect_none_fails({{"work ring, leaving", {"y", {"l"}, 0}, bound + 1},
                     {"work ring, leaving twice", {"yy", {"l"}, 0}, bound},
                     {"work ring, leaving and popped", {"y<y-", {"l"}, 1}, bound},
                     {"work ring, leaving, half", {"yy", {"h"}, 1}, bound},
                     {"work ring, leaving, slot", {"ztz", {"l"}, 0}, bound},
                     {"work ring, leaving, slot displaced", {"zzy", {"L"}, 1}, bound},
                     {"work ring, leaving, both thieves", {"y-y", {"H", "L"}, 2}, bound}});
}

// A worker that goes to sleep looks by might_have, and misses no ring that it could steal from.
TEST(work_ring, no_push_is_slept_through) {
  const model::report r =
      model::explore("work ring, sleeper", {.bound = model::default_bound() + 1}, [](model::run& run) {
        ring<model::memory> queue;
        sennit::detail::sleepers<model::memory> asleep;
        model::gate driver;
        run.thread([&] {
          for (int i = 1; i <= 2; ++i) {
            queue.push(i);
            if (queue.owned() >= 2 && asleep.choose() != asleep.none)
              driver.signal();
          }
        });
        run.thread([&] {
          while (queue.steal_half([](int) {}) == 0) {
            asleep.mark_asleep(0);
            if (queue.might_have() < 2)
              driver.wait();
            asleep.mark_awake(0);
          }
        });
        run.join();
      });
  EXPECT_FALSE(r.failed) << r;
}

TEST(work_ring, each_order_matters) {
  const model::weakened w =
      model::weaken_each("work ring, 2 thieves behind pushes", "work_ring.hpp",
                         {.bound = model::default_bound() - 1}, play({"-++-", {"H", "H"}, 3}));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

TEST(work_ring, each_order_matters_to_late_thieves) {
  const model::weakened w =
      model::weaken_each("work ring, all operations", "work_ring.hpp", {}, play({"++<yyszt-", {"LL"}, 0}));
  EXPECT_FALSE(w.correct.failed) << w.correct;
  EXPECT_EQ(w.survivors, std::vector<std::string>{});
}

// What one play does not need, the other does.
TEST(work_ring, each_order_matters_to_who_goes_round) {
  const model::weakened behind_pushes =
      model::weaken_each("work ring, round behind pushes", "work_ring.hpp",
                         {.bound = model::default_bound() - 1}, play({"r+r", {"H", "H"}, 3}));
  const model::weakened leaving =
      model::weaken_each("work ring, round, who is leaving", "work_ring.hpp",
                         {.bound = model::default_bound() - 1}, play({"rr+r", {"HH", "L"}, 2}));
  EXPECT_FALSE(behind_pushes.correct.failed) << behind_pushes.correct;
  EXPECT_FALSE(leaving.correct.failed) << leaving.correct;
  std::vector<std::string> survivors;
  for (const std::string& each : behind_pushes.survivors)
    if (std::ranges::find(leaving.survivors, each) != leaving.survivors.end())
      survivors.push_back(each);
  EXPECT_EQ(survivors, std::vector<std::string>{});
}

TEST(work_ring, without_the_fences_an_item_is_taken_twice) {
  struct no_light : model::memory {
    static void light_fence() {}
    static void free_fence() {}
  };
  struct no_heavy : model::memory {
    static void heavy_fence() {}
  };
  for (const cast& c :
       {cast{"---", {"h"}, 3}, cast{"<<<", {"h"}, 3}, cast{"t", {"l"}, 0, true}, cast{"rr", {"h"}, 3}}) {
    const model::report light = model::explore("work ring, no light fence", {}, play<no_light>(c));
    EXPECT_TRUE(light.failed);
    const model::report heavy = model::explore("work ring, no heavy fence", {}, play<no_heavy>(c));
    EXPECT_TRUE(heavy.failed);
  }
}

}  // namespace
