// Fibers that have not begun have no stack. They get one when they first run, or fail if there can be none.
#include "sennit/detail/sched/first_round.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/dump.hpp"
#include "sennit/stacks.hpp"
#include "support/child.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

// Under ThreadSanitizer, a child of a process that has had threads cannot start any.
template <class Kind>
constexpr bool can_run_in_child =
#if defined(SENNIT_TSAN)
    std::is_same_v<Kind, local_kind>;
#else
    true;
#endif

template <class Kind>
class FirstRound : public kind_test<Kind> {};

// The stacks on which fibers run.
class stacks_seen {
public:
  void note() {
    const detail::stack_place place = detail::stack_find(reinterpret_cast<std::uintptr_t>(this_frame()));
    const std::lock_guard hold(lock_);
    all_.insert(place.low);
  }
  std::size_t count() const { return all_.size(); }

private:
  static void* this_frame() { return __builtin_frame_address(0); }
  std::mutex lock_;
  std::set<const void*> all_;
};

KIND_TEST(FirstRound, FibersThatDoNotWaitShareFewStacks) {
  this->run([&] {
    constexpr int fibers = 2000;
    stacks_seen stacks;
    typename FirstRound<Kind>::fiber_list all;
    for (int i = 0; i < fibers; ++i)
      all.push_back(Kind::spawn([&] { stacks.note(); }));
    this->join(all);
    EXPECT_LE(stacks.count(), 50u);
  });
}

KIND_TEST(FirstRound, FibersThatWaitHaveAStackEach) {
  this->run([&] {
    constexpr int some = 300;
    stacks_seen stacks;
    typename Kind::event go;
    typename Kind::wait_group begun(some);
    typename FirstRound<Kind>::fiber_list all;
    for (int i = 0; i < some; ++i)
      all.push_back(Kind::spawn([&] {
        stacks.note();
        begun.done();
        go.wait();
      }));
    begun.wait();
    EXPECT_EQ(stacks.count(), static_cast<std::size_t>(some));
    go.set();
    this->join(all);
  });
}

// Counts its objects, and moves as told.
template <std::size_t size, std::size_t alignment, bool may_throw>
struct counted_function {
  static inline std::atomic<int> objects{0};
  static inline std::atomic<int> calls{0};

  explicit counted_function(int value) {
    ++objects;
    values.fill(static_cast<unsigned char>(value));
  }
  counted_function(const counted_function& other) : values(other.values) { ++objects; }
  counted_function(counted_function&& other) noexcept(!may_throw) : values(other.values) {
    ++objects;
    other.values.fill(0);
  }
  ~counted_function() { --objects; }
  void operator()() {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % alignment, 0u);
    for (const unsigned char each : values)
      EXPECT_EQ(each, 7);
    ++calls;
  }
  alignas(alignment) std::array<unsigned char, size> values;
};

template <class Kind, class Function>
void call_some(int count) {
  Function::calls = 0;
  std::vector<typename Kind::fiber> all;
  for (int i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<Kind, local_kind>)
      all.push_back(local::spawn(Function(7)));
    else
      all.push_back(spawn(Function(7)));
  }
  for (auto& each : all)
    each.join();
  EXPECT_EQ(Function::calls, count);
  EXPECT_EQ(Function::objects, 0);
}

KIND_TEST(FirstRound, FunctionsOfAnySizeArriveAndAreDestroyedOnce) {
  this->run([&] {
    for (int round = 0; round < 2; ++round) {
      call_some<Kind, counted_function<1, 1, false>>(300);
      call_some<Kind, counted_function<48, 16, false>>(300);
      call_some<Kind, counted_function<64, 16, false>>(300);
      call_some<Kind, counted_function<96, 8, false>>(300);
      call_some<Kind, counted_function<97, 1, false>>(300);
      call_some<Kind, counted_function<4096, 64, false>>(300);
      call_some<Kind, counted_function<40, 8, true>>(300);
    }
  });
}

struct throws_when_copied {
  throws_when_copied() = default;
  throws_when_copied(const throws_when_copied&) { throw std::domain_error("copied"); }
  throws_when_copied(throws_when_copied&&) noexcept {}
  void operator()() const { ADD_FAILURE() << "it was not spawned"; }
};

KIND_TEST(FirstRound, AFunctionThatCannotBeCopiedLeavesNothing) {
  this->run([&] {
    const throws_when_copied function;
    for (int i = 0; i < 300; ++i)
      if constexpr (std::is_same_v<Kind, local_kind>)
        EXPECT_THROW(local::spawn(function), std::domain_error);
      else
        EXPECT_THROW(spawn(function), std::domain_error);
  });
  EXPECT_LE(this->kind.rt.size(), 1u);
}

KIND_TEST(FirstRound, ResultsExceptionsAndContinuationsAreAsEver) {
  this->run([&] {
    typename FirstRound<Kind>::fiber_list all;
    std::atomic<int> ended{0};
    typename Kind::event go;
    for (int i = 0; i < 300; ++i) {
      all.push_back(Kind::spawn([] { throw std::domain_error("thrown"); }));
      all.push_back(Kind::spawn([&] { return become(go.waiting(), [&ended] { ++ended; }); }));
    }
    go.set();
    int thrown = 0;
    for (auto& each : all)
      try {
        each.join();
      } catch (const std::domain_error&) {
        ++thrown;
      }
    EXPECT_EQ(thrown, 300);
    EXPECT_EQ(ended, 300);
  });
}

KIND_TEST(FirstRound, HandlesWorkBeforeTheFiberBegins) {
  this->run([&] {
    std::vector<typename Kind::fiber> all;
    std::atomic<int> ran{0};
    for (int i = 0; i < 300; ++i)
      all.push_back(Kind::spawn_here([&ran] {
        if constexpr (std::is_same_v<Kind, local_kind>)
          local::this_fiber::park();
        else
          this_fiber::park();
        ++ran;
      }));
    std::set<std::uint64_t> ids;
    for (auto& each : all) {
      each.unpark();
      EXPECT_EQ(each.name(), "");
      ids.insert(each.id());
    }
    EXPECT_EQ(ids.size(), all.size());
    EXPECT_FALSE(all.back().join_for(std::chrono::nanoseconds(1)) && ran == 0);
    all.front().detach();
    all.erase(all.begin());
    for (auto& each : all)
      if (each.joinable())
        each.join();
    while (ran != 300)
      Kind::yield();
  });
}

KIND_TEST(FirstRound, AtTheRuntimesEndTheFunctionIsDestroyedAndNotCalled) {
  const auto owned = std::make_shared<int>(0);
  {
    Kind made;
    made.run([&] {
      for (int i = 0; i < 600; ++i)
        Kind::spawn_here([owned] {
          Kind::yield();
          for (;;)
            Kind::yield();
        }).detach();
    });
  }
  EXPECT_EQ(owned.use_count(), 1);
}

KIND_TEST(FirstRound, ADumpShowsThatAFiberHasNotBegun) {
  if (!can_run_in_child<Kind>)
    GTEST_SKIP() << "no threads in a child";
  const auto result = support::in_child([] {
    Kind made;
    made.run([] {
      std::vector<typename Kind::fiber> all;
      for (int i = 0; i < 200; ++i)
        all.push_back(Kind::spawn_here([] {}));
      dump();
      for (auto& each : all)
        each.join();
    });
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_NE(result.said.find("ready, not begun"), std::string::npos) << result;
}

// ---- Without memory for all stacks.

constexpr int many = 5000;  // more than the process that makes the children has had

// Runs it in a child in which so many stacks can be made, and which gives up early.
template <class Kind, class Function>
void run_with_few_stacks(std::size_t stacks, Function function) {
  const auto result = support::in_child([&] {
    detail::guards = detail::guard_method::split;
    detail::most_split_guards = stacks;
    detail::refused_fibers::most_tries = 50;
    function();
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

KIND_TEST(FirstRound, AllFibersBeginWhenStacksBecomeFree) {
  if (!can_run_in_child<Kind>)
    GTEST_SKIP() << "no threads in a child";
  run_with_few_stacks<Kind>(500, [] {
    Kind made;
    made.run([] {
      std::atomic<int> ran{0};
      std::vector<typename Kind::fiber> all;
      for (int i = 0; i < many; ++i)
        all.push_back(Kind::spawn([&ran] {
          Kind::sleep_for(std::chrono::milliseconds(1));
          ++ran;
        }));
      for (auto& each : all)
        each.join();
      EXPECT_EQ(ran, many);
    });
  });
}

KIND_TEST(FirstRound, FibersThatResumeWithoutAStackWaitForOne) {
  if (!can_run_in_child<Kind>)
    GTEST_SKIP() << "no threads in a child";
  run_with_few_stacks<Kind>(500, [] {
    Kind made;
    made.run([] {
      std::atomic<int> ran{0};
      typename Kind::event go;
      std::vector<typename Kind::fiber> all;
      for (int i = 0; i < many; ++i)
        all.push_back(Kind::spawn([&] {
          return become(go.waiting(), [&] {
            Kind::sleep_for(std::chrono::milliseconds(1));
            ++ran;
          });
        }));
      Kind::sleep_for(std::chrono::milliseconds(5));
      go.set();
      for (auto& each : all)
        each.join();
      EXPECT_EQ(ran, many);
    });
  });
}

// No fiber frees a stack until the first one has failed: its function is destroyed, and opens the gate.
KIND_TEST(FirstRound, AFiberForWhichNoStackCanBeFreedFailsAndTheRuntimeGoesOn) {
  if (!can_run_in_child<Kind>)
    GTEST_SKIP() << "no threads in a child";
  run_with_few_stacks<Kind>(300, [] {
    Kind made;
    made.run([] {
      for (int round = 0; round < 2; ++round) {
        std::atomic<int> ran{0};
        int failed = 0;
        typename Kind::event go;
        std::vector<typename Kind::fiber> all;
        for (int i = 0; i < many; ++i)
          all.push_back(Kind::spawn([&, opens = std::shared_ptr<void>(&go, [&go](void*) { go.set(); })] {
            go.wait();
            ++ran;
          }));
        for (auto& each : all)
          try {
            each.join();
          } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::errc::not_enough_memory);
            ++failed;
          }
        EXPECT_GT(failed, 0);
        EXPECT_EQ(ran + failed, many);
      }
    });
  });
}

KIND_TEST(FirstRound, AScopeLearnsThatOneOfItsFibersCouldNotBegin) {
  if (!can_run_in_child<Kind>)
    GTEST_SKIP() << "no threads in a child";
  run_with_few_stacks<Kind>(300, [] {
    Kind made;
    made.run([] {
      typename Kind::event never;
      typename Kind::scope scope;
      for (int i = 0; i < many; ++i)
        scope.spawn([&never] { never.wait(); });
      EXPECT_THROW(scope.join(), std::system_error);
    });
  });
}

KIND_TEST(FirstRound, FibersThatFindNoStackAreDestroyedAtTheRuntimesEnd) {
  if (!can_run_in_child<Kind>)
    GTEST_SKIP() << "no threads in a child";
  run_with_few_stacks<Kind>(300, [] {
    const auto owned = std::make_shared<int>(0);
    {
      Kind made;
      made.run([owned] {
        for (int i = 0; i < many; ++i)
          Kind::spawn([owned] {
            typename Kind::event never;
            never.wait();
          }).detach();
        for (int i = 0; i < 20; ++i)
          Kind::sleep_for(std::chrono::milliseconds(1));
      });
    }
    EXPECT_EQ(owned.use_count(), 1);
  });
}

}  // namespace
}  // namespace sennit
