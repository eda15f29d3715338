// Workers that go to sleep, and all that may wake them, together: a fiber that readies others in its own
// worker's ring, a post from outside, and the watcher, which must be replaced when it leaves to run a fiber.
//
// Left out: posts to a certain worker (inbox_test.cpp); a look outside while fibers run; and that lone
// fibers are stolen, and stuck workers robbed, only if those have not dispatched.
#include "sennit/detail/parallel/idling.hpp"

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "model.hpp"
#include "sennit/detail/parallel/sleepers.hpp"
#include "sennit/detail/parallel/work_ring.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"

namespace {

namespace detail = sennit::detail;

// ---- What may be planted.

struct nothing {
  using memory = model::memory;
  using flag = model::atomic<bool>;
  using count = model::atomic<unsigned>;
  using asleep = detail::sleepers<memory>;
  static constexpr bool puts_first = true;
  struct steal_throttle {
    struct calls {
      bool pay;
      template <class Count>
      bool due(const Count&) const {
        return pay;
      }
    };
    calls wake_for_lone{false};
    calls wake_for_several{true};
    static bool pays() { return true; }
    static bool may_steal() { return true; }
    static void slept() {}
  };
};

// No theft pays, nor any call.
struct does_not_pay : nothing {
  struct steal_throttle {
    nothing::steal_throttle::calls wake_for_lone{false};
    nothing::steal_throttle::calls wake_for_several{false};
    bool has_slept = false;
    static bool pays() { return false; }
    bool may_steal() const { return has_slept; }
    void slept() { has_slept = true; }
  };
};

struct no_heavy_fence : nothing {
  struct memory : model::memory {
    static void heavy_fence() {}
  };
  using asleep = detail::sleepers<memory>;
};

struct wakes_before_it_puts : nothing {
  static constexpr bool puts_first = false;
};

// No worker sees that the watcher has left.
struct calls_no_watcher : nothing {
  struct flag : model::atomic<bool> {
    using atomic::atomic;
    bool load(model::order) const { return true; }
  };
};

// A worker that does not watch assumes that all sleep, and does not check that the watcher is still there.
struct sleeps_unwatched : nothing {
  struct asleep : detail::sleepers<model::memory> {
    static unsigned count() { return 2; }
  };
};

// A worker that has searched seems to search for ever.
struct searches_for_ever : nothing {
  struct count : model::atomic<unsigned> {
    using atomic::atomic;
    unsigned fetch_sub(unsigned, model::order) { return 2; }
  };
};

// ---- The stage.

// How time passes: not at all; when no other thread can continue; and so often at any moment.
struct passing {
  bool at_all = true;
  unsigned early = 0;
};

struct turn {
  model::atomic<bool> taken{false};
  void lock() {
    while (taken.exchange(true, std::memory_order_acquire))
      while (taken.load(std::memory_order_relaxed))
        model::memory::yield_thread();
  }
  void unlock() { taken.store(false, std::memory_order_release); }
};

struct item_queue {
  std::vector<int> items;
  model::plain<std::size_t> size{0};
  void splice(int item) {
    items.push_back(item);
    size = size + 1;
  }
  int pop() {
    const int first = items.front();
    items.erase(items.begin());
    size = size - 1;
    return first;
  }
};

using time_point = int;
constexpr time_point never = std::numeric_limits<int>::max();
constexpr int most_items = 3;

template <class Plant>
struct stage;

template <class Plant>
struct player {
  player(stage<Plant>& of, unsigned number) : runtime(of), index(number) {}

  struct timers_type {
    static time_point earliest() { return never; }
  };
  struct no_arrivals {
    static bool still_empty() { return true; }
    static void mark_asleep() {}
    static void mark_awake() {}
  };
  using throttle_type = typename Plant::steal_throttle;
  struct driver_type {
    void wake() {
      ++wakes;
      gate.signal();
    }
    model::gate gate;
    unsigned wakes = 0;
  };
  using ring_type = detail::work_ring<int, 4, model::memory>;

  stage<Plant>& runtime;
  const unsigned index;
  ring_type ring;
  no_arrivals arrivals;
  timers_type timers;
  throttle_type stealing;
  std::unique_ptr<driver_type> driver = std::make_unique<driver_type>();
};

template <class Plant>
struct stage {
  using item_body = std::function<void(player<Plant>&)>;

  stage(unsigned count, passing how) : time_passes(how) {
    for (unsigned i = 0; i < count; ++i)
      workers.push_back(std::make_unique<player<Plant>>(*this, i));
    now = 0;
  }

  void add(item_body body) { bodies.push_back(std::move(body)); }

  void post_from_outside(int item) {
    if (Plant::puts_first)
      detail::put_injected(*this, item);
    detail::wake_a_sleeper(*this);
    if (!Plant::puts_first)
      detail::put_injected(*this, item);
  }

  void run(player<Plant>& w, int item) {
    MODEL_CHECK(ran[item] == 0);
    ran[item] = 1;
    bodies[item - 1](w);
    if (++done != bodies.size())
      return;
    for (const auto& each : workers)
      wakes += each->driver->wakes;
    stopping.store(true, std::memory_order_release);
    for (const auto& each : workers)
      each->driver->wake();
  }

  typename Plant::asleep asleep;
  typename Plant::count searching{0};
  typename Plant::flag watched{false};
  model::atomic<bool> stopping{false};
  turn injected_lock;
  item_queue injected;
  model::atomic<bool> any_injected{false};
  std::vector<std::unique_ptr<player<Plant>>> workers;
  static constexpr bool forces_migration = false;

  passing time_passes;
  static inline time_point now;
  std::vector<item_body> bodies;
  std::array<model::plain<int>, most_items + 1> ran;
  std::size_t done = 0;
  unsigned wakes = 0;  // before the end
};

template <class Plant>
void parallel_wake_one(stage<Plant>& of) {
  detail::wake_unless_searched(of);
}

template <class Plant>
void push(player<Plant>& w, int item) {
  MODEL_CHECK(w.ring.push(item));
  detail::maybe_wake_worker(w);
}

template <class Plant>
int take_own(player<Plant>& w) {
  const int woken = w.ring.take_next_slot();
  return woken != 0 ? woken : w.ring.pop();
}

// What `steal` takes of the others: the first is returned.
template <class Plant, class Steal>
int rob_others(player<Plant>& w, Steal steal) {
  for (const auto& each : w.runtime.workers) {
    if (each.get() == &w)
      continue;
    std::vector<int> stolen;
    steal(each->ring, [&](int item) { stolen.push_back(item); });
    for (std::size_t i = 1; i < stolen.size(); ++i)
      push(w, stolen[i]);
    if (!stolen.empty())
      return stolen.front();
  }
  return 0;
}

template <class Plant>
struct idle_policy {
  using worker = player<Plant>;
  using work = int;
  using duration = int;
  static constexpr unsigned search_rounds = 1;
  static constexpr duration stuck_after = 1;
  static constexpr duration longest_watch = 1;

  struct lone {
    explicit lone(worker& w) {
      for (const auto& each : w.runtime.workers)
        if (each.get() != &w && each->ring.might_have() == 1)
          at = each.get();
    }
    bool seen() const { return at != nullptr; }
    int take(worker&) const {
      int found = 0;
      if (at != nullptr)
        at->ring.steal_lone([&](int item) { found = item; });
      return found;
    }
    worker* at = nullptr;
  };

  static time_point now() { return stage<Plant>::now; }
  static int search(worker& w) {
    detail::take_injected(w);
    if (const int found = take_own(w))
      return found;
    return rob_others(w, [](auto& ring, auto take) { ring.steal_half(take); });
  }
  static int service_stalled_worker(worker& w) {
    return rob_others(w, [](auto& ring, auto take) { ring.steal_late(take); });
  }
  static void pause() {}
  static void wait(worker& w, time_point deadline) {
    auto until = model::patience::endless;
    passing& how = w.runtime.time_passes;
    if (deadline != never && how.at_all)
      until = how.early != 0 ? model::patience::short_enough : model::patience::long_enough;
    how.early -= until == model::patience::short_enough;
    if (!w.driver->gate.wait(until))
      stage<Plant>::now = std::max(stage<Plant>::now, deadline);
  }
};

// As parallel_next and parallel_idle.
template <class Plant>
void work(player<Plant>& w, int running = 0) {
  for (;;) {
    if (running == 0)
      running = take_own(w);
    for (int period = idle_policy<Plant>::stuck_after; running == 0;) {
      if (w.runtime.stopping.load(std::memory_order_acquire))
        return;
      running = detail::idling<idle_policy<Plant>>::find_or_sleep(w, period);
    }
    w.runtime.run(w, std::exchange(running, 0));
  }
}

// ---- The plays.

// Two posts at most, and the worker that runs one needs no other worker.
template <class Plant = nothing>
auto posts(unsigned workers, int items, unsigned most_wakes, passing how = {}) {
  return [=](model::run& run) {
    stage<Plant> all(workers, how);
    for (int i = 0; i < items; ++i)
      all.add([](auto&) {});
    for (unsigned i = 0; i < workers; ++i)
      run.thread([&, i] { work(*all.workers[i]); });
    run.thread([&] {
      for (int i = 1; i <= items; ++i)
        all.post_from_outside(i);
    });
    run.join();
    MODEL_CHECK(all.wakes <= most_wakes);
  };
}

// A fiber makes two others ready, and keeps its worker until the first has run.
template <class Plant = nothing>
auto pushes(passing how) {
  return [=](model::run& run) {
    stage<Plant> all(2, how);
    model::gate first_ran;
    all.add([&](auto& w) {
      push(w, 2);
      push(w, 3);
      first_ran.wait();
    });
    all.add([&](auto&) { first_ran.signal(); });
    all.add([](auto&) {});
    run.thread([&] { work(*all.workers[0], 1); });
    run.thread([&] { work(*all.workers[1]); });
    run.join();
  };
}

// A fiber comes from outside and readies another one. That goes first, so no other worker may take it, and
// the fiber keeps its worker until that has run: only the watcher can help.
template <class Plant = nothing>
auto gets_stuck(passing how) {
  return [=](model::run& run) {
    stage<Plant> all(2, how);
    model::gate second_ran;
    all.add([&](auto& w) {
      w.ring.put_next_slot(2);
      second_ran.wait();
    });
    all.add([&](auto&) { second_ran.signal(); });
    for (unsigned i = 0; i < 2; ++i)
      run.thread([&, i] { work(*all.workers[i]); });
    run.thread([&] { all.post_from_outside(1); });
    run.join();
  };
}

constexpr passing slowly{};
constexpr passing not_at_all{.at_all = false};
constexpr passing early_once{.early = 1};

// An execution has two hundred steps: with more preemptions it takes minutes.
constexpr unsigned preemptions = 1;

TEST(idling, no_post_is_slept_through) {
  const model::report one = model::explore("idling, 1 worker, 2 posts", {}, posts(1, 2, 2));
  EXPECT_FALSE(one.failed) << one;
  // One wakes for the fiber, one to watch.
  const model::report two =
      model::explore("idling, 2 workers, 1 post", {.bound = preemptions}, posts(2, 1, 2, early_once));
  EXPECT_FALSE(two.failed) << two;
}

TEST(idling, no_push_is_slept_through) {
  for (const passing how : {not_at_all, early_once}) {
    const model::report r = model::explore("idling, pushes", {.bound = preemptions}, pushes(how));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(idling, a_push_is_not_slept_through_for_ever_where_help_does_not_pay) {
  for (const passing how : {slowly, early_once}) {
    const model::report r =
        model::explore("idling, does not pay", {.bound = preemptions}, pushes<does_not_pay>(how));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(idling, somebody_watches_who_is_stuck) {
  for (const passing how : {slowly, early_once}) {
    const model::report r = model::explore("idling, stuck", {.bound = preemptions}, gets_stuck(how));
    EXPECT_FALSE(r.failed) << r;
  }
}

void expect_deadlock(const char* name, const model::scenario& what) {
  const model::report r = model::explore(name, {}, what);
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.starts_with("deadlock") || r.failure.starts_with("livelock")) << r;
}

TEST(idling, what_is_lost_is_found) {
  expect_deadlock("idling, no heavy fence", posts<no_heavy_fence>(1, 1, 1));
  expect_deadlock("idling, woken before it is put", posts<wakes_before_it_puts>(1, 1, 1));
  expect_deadlock("idling, always searched", pushes<searches_for_ever>(not_at_all));
  expect_deadlock("idling, nobody calls a watcher", gets_stuck<calls_no_watcher>(early_once));
  expect_deadlock("idling, unwatched", gets_stuck<sleeps_unwatched>(early_once));
}

}  // namespace
