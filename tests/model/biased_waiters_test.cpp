// A mutex that is biased towards a worker: its fast paths have neither fences nor read-modify-writes, and
// still one thread at a time is inside, every waiter is woken, and the last one may destroy the mutex at
// once.
#include "sennit/detail/sync/biased_waiters.hpp"
#include "sennit/detail/sync/biased_lock.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "mutex.hpp"

namespace {

using namespace sennit::detail;
using model::plants;
using model::sleeper;

// Each thread of the model is a worker, or none: 0.
struct modelled_worker {
  static inline std::array<std::uintptr_t, 5> numbers{};
  static std::uintptr_t number() { return numbers[model::machine::now->running()]; }
};

// What only the owner does must happen before all that others do. (They read the word by compare-and-swap:
// the checker gives them the latest value in any case.)
template <class Memory>
class ordered_waiters : public basic_low_lock_waiters<Memory> {
  using base = basic_low_lock_waiters<Memory>;

public:
  using base::base;
  bool change(std::uintptr_t from, std::uintptr_t to, std::memory_order order) noexcept {
    static_cast<void>(static_cast<int>(only_));
    return base::change(from, to, order);
  }
  std::uintptr_t lock() noexcept {
    static_cast<void>(static_cast<int>(only_));
    return base::lock();
  }
  bool change_as_only(std::uintptr_t from, std::uintptr_t to) noexcept {
    only_ = only_ + 1;
    return base::change_as_only(from, to);
  }
  void unlock_as_only(std::uintptr_t now) noexcept {
    only_ = only_ + 1;
    base::unlock_as_only(now);
  }

private:
  model::plain<int> only_{0};
};

template <class Memory = model::memory>
using lock = model::mutex<basic_biased_waiters<Memory, modelled_worker, ordered_waiters<Memory>>>;

constexpr sennit::wait_options biased{.bias = true};

// Thread n is worker number[n]; each locks and unlocks it that often. The first one owns the bias.
template <class Memory = model::memory>
auto one_at_a_time(std::vector<std::uintptr_t> numbers, std::vector<int> times, bool fair,
                   plants what = plants::nothing) {
  return [=](model::run& run) {
    using mutex = lock<Memory>;
    mutex shared(fair, what, biased, mutex::word::unlocked);
    modelled_worker::numbers.fill(0);
    modelled_worker::numbers[model::machine::now->running()] = numbers[0];
    sleeper first;
    shared.take(first);
    shared.give();
    model::plain<int> inside{0};
    sleeper all[3];
    int sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      modelled_worker::numbers[i + 1] = numbers[i];
      sum += times[i];
      run.thread([&, me = &all[i], count = times[i]] {
        for (int n = 0; n < count; ++n) {
          shared.take(*me);
          inside = inside + 1;
          shared.give();
        }
      });
    }
    run.join();
    MODEL_CHECK(inside == sum);
  };
}

// Two workers use a mutex for the first time at the same time.
auto undecided(bool fair) {
  return [=](model::run& run) {
    lock<> shared(fair, plants::nothing, biased, lock<>::word::fresh);
    modelled_worker::numbers = {0, 1, 2, 0, 0};
    model::plain<int> inside{0};
    sleeper all[2];
    for (sleeper& me : all)
      run.thread([&] {
        shared.take(me);
        inside = inside + 1;
        shared.give();
      });
    run.join();
    MODEL_CHECK(inside == 2);
  };
}

// The holder has moved: another worker unlocks it, while the owner wants it.
auto unlocked_elsewhere(bool fair) {
  return [=](model::run& run) {
    lock<> shared(fair, plants::nothing, biased, lock<>::word::unlocked);
    modelled_worker::numbers = {1, 1, 2, 0, 0};
    sleeper holder, waits;
    shared.take(holder);
    model::plain<int> inside{0};
    run.thread([&] {
      shared.take(waits);
      inside = inside + 1;
      shared.give();
    });
    run.thread([&] {
      inside = inside + 1;
      shared.give();
    });
    run.join();
    MODEL_CHECK(inside == 2);
  };
}

// The owner locks and unlocks it once; the other one destroys it when it holds it after that.
auto the_last_destroys_it() {
  return [](model::run& run) {
    std::optional<lock<>> shared(std::in_place, true, plants::nothing, biased, lock<>::word::unlocked);
    modelled_worker::numbers = {1, 1, 2, 0, 0};
    sleeper owner, waits;
    shared->take(owner);
    run.thread([&] { shared->give(); });
    run.thread([&] {
      shared->take(waits);
      shared.reset();
    });
    run.join();
  };
}

TEST(biased_waiters, lets_in_one_at_a_time_and_forgets_nobody) {
  for (const bool fair : {false, true}) {
    const std::string how = fair ? "biased, fair" : "biased, barging";
    const model::report thread =
        model::explore(how + ", owner and thread", {}, one_at_a_time({1, 0}, {1, 1}, fair));
    EXPECT_FALSE(thread.failed) << thread;
  }
}

TEST(biased_waiters, an_owner_that_comes_again_is_seen) {
  const model::report r = model::explore("biased, owner twice", {}, one_at_a_time({1, 2}, {2, 1}, false));
  EXPECT_FALSE(r.failed) << r;
}

TEST(biased_waiters, two_may_revoke) {
  const model::report r =
      model::explore("biased, two revoke", {}, one_at_a_time({1, 2, 0}, {0, 1, 1}, false));
  EXPECT_FALSE(r.failed) << r;
}

TEST(biased_waiters, one_worker_gets_the_bias) {
  for (const bool fair : {false, true}) {
    const model::report r = model::explore("biased, undecided", {}, undecided(fair));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(biased_waiters, its_holder_may_have_moved) {
  for (const bool fair : {false, true}) {
    const model::report r = model::explore("biased, unlocked elsewhere", {}, unlocked_elsewhere(fair));
    EXPECT_FALSE(r.failed) << r;
  }
}

TEST(biased_waiters, the_last_may_destroy_it) {
  const model::report r = model::explore("biased, destroyed", {}, the_last_destroys_it());
  EXPECT_FALSE(r.failed) << r;
}

// A lock of a few instructions (channels). Each thread is worker number[n], and locks it that often.
template <class Memory>
class modelled_spin_lock {
public:
  void lock() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire))
      for (lock_pause<Memory> pause; taken_.load(std::memory_order_relaxed);)
        pause();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

private:
  typename Memory::template atomic<bool> taken_{false};
};
template <class Memory = model::memory>
auto brief_locks(std::vector<std::uintptr_t> numbers, std::vector<int> times, bool decided) {
  return [=](model::run& run) {
    basic_biased_lock<Memory, modelled_worker, modelled_spin_lock<Memory>> shared;
    modelled_worker::numbers.fill(0);
    modelled_worker::numbers[model::machine::now->running()] = numbers[0];
    if (decided) {
      shared.lock();
      shared.unlock();
    }
    model::plain<int> inside{0};
    int sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      modelled_worker::numbers[i + 1] = numbers[i];
      sum += times[i];
      run.thread([&, count = times[i]] {
        for (int n = 0; n < count; ++n) {
          shared.lock();
          inside = inside + 1;
          shared.unlock();
        }
      });
    }
    run.join();
    MODEL_CHECK(inside == sum);
  };
}

TEST(biased_lock, lets_in_one_at_a_time) {
  const std::vector<std::vector<std::uintptr_t>> all{{1, 0}, {1, 2}, {1, 2, 0}};
  for (const auto& numbers : all)
    for (const bool decided : {false, true}) {
      const std::vector<int> times = numbers.size() == 2 ? std::vector{2, 1} : std::vector{1, 1, 1};
      const model::report r = model::explore("biased lock", {}, brief_locks(numbers, times, decided));
      EXPECT_FALSE(r.failed) << r;
    }
}

// Orders of the bias word matter to a thread that has met neither the owner nor the revoker. That takes three
// threads, but no preemption.
TEST(biased_waiters, each_order_matters) {
  const model::weakened two =
      model::weaken_each("biased, owner and worker", "bias.hpp", {}, one_at_a_time({1, 2}, {2, 1}, false));
  EXPECT_FALSE(two.correct.failed) << two.correct;
  const model::weakened three = model::weaken_each("biased, 3 workers", "bias.hpp", {.bound = 0},
                                                   one_at_a_time({1, 2, 3}, {1, 1, 1}, false));
  EXPECT_FALSE(three.correct.failed) << three.correct;
  for (const std::string& each : two.survivors)
    EXPECT_EQ(std::ranges::count(three.survivors, each), 0) << each;
}

// Without its fence, the owner's store may come after its second look.
struct owner_without_fence : model::memory {
  static void free_fence() {}
};
struct revoker_without_fence : model::memory {
  static void heavy_fence() {}
};

TEST(biased_waiters, both_fences_are_needed) {
  EXPECT_TRUE(model::explore("biased, owner without fence", {},
                             one_at_a_time<owner_without_fence>({1, 0}, {1, 1}, false))
                  .failed);
  EXPECT_TRUE(model::explore("biased, revoker without fence", {},
                             one_at_a_time<revoker_without_fence>({1, 0}, {1, 1}, false))
                  .failed);
  EXPECT_TRUE(model::explore("biased lock, owner without fence", {},
                             brief_locks<owner_without_fence>({1, 0}, {1, 1}, true))
                  .failed);
  EXPECT_TRUE(model::explore("biased lock, revoker without fence", {},
                             brief_locks<revoker_without_fence>({1, 0}, {1, 1}, true))
                  .failed);
}

TEST(biased_waiters, a_lost_wake_is_found) {
  const model::report r =
      model::explore("biased, forgets", {}, one_at_a_time({1, 2}, {1, 1}, false, plants::forgets_waiters));
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(r.failure.starts_with("deadlock")) << r;
}

}  // namespace
