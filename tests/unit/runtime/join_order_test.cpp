// Which fiber runs next: one that is joined before it has begun, past others that are ready; and the child
// of a spawn_now.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/kinds.hpp"

namespace sennit {
namespace {

template <class Kind>
class JoinOrder : public kind_test<Kind> {};

KIND_TEST_UP_TO(1, JoinOrder, TheJoinedOneRunsFirst) {
  this->run([] {
    std::string order;
    auto a = Kind::spawn([&] { order += 'a'; });
    auto b = Kind::spawn([&] { order += 'b'; });
    auto c = Kind::spawn([&] { order += 'c'; });
    auto d = Kind::spawn([&] { order += 'd'; });
    b.join();
    c.join();
    order += '.';
    a.join();
    d.join();
    if (Kind::param.policy != run_policy::lifo) {
      EXPECT_EQ(order, "bc.ad");
    }
    EXPECT_EQ(order.size(), 5u);
  });
}

KIND_TEST_UP_TO(1, JoinOrder, ManyAreJoinedInAnyOrder) {
  this->run([] {
    for (std::size_t step : {1u, 3u, 7u, 19u}) {
      constexpr std::size_t children_count = 20;
      std::vector<int> runs(children_count);
      std::vector<typename Kind::fiber> children;
      for (std::size_t i = 0; i < children_count; ++i)
        children.push_back(Kind::spawn([&runs, i] {
          if (i % 4 == 0)
            Kind::yield();
          ++runs[i];
        }));
      for (std::size_t i = 0; i < children_count; ++i) {
        const std::size_t at = i * step % children_count;
        children[at].join();
        EXPECT_EQ(runs[at], 1);
      }
    }
  });
}

// How many fibers of a binary tree had begun, and not ended, at the same time.
template <class Kind>
struct tree {
  std::atomic<int> begun{0};
  std::atomic<int> most{0};
  std::atomic<int> all{0};

  void grow(int depth) {
    const int now = ++begun;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    ++all;
    if (depth > 0) {
      auto left = Kind::spawn([this, depth] { grow(depth - 1); });
      auto right = Kind::spawn([this, depth] { grow(depth - 1); });
      left.join();
      right.join();
    }
    --begun;
  }
};

KIND_TEST(JoinOrder, ATreeIsTraversedInDepth) {
  this->run([] {
    constexpr int depth = 12;
    tree<Kind> of;
    of.grow(depth);
    EXPECT_EQ(of.all, (2 << depth) - 1);
    if (detail::direct_entry && Kind::param.workers <= 1) {
      EXPECT_LT(of.most, 300);  // in breadth, some 8,000
    }
  });
}

KIND_TEST(JoinOrder, OthersGetTheirTurn) {
  if (Kind::param.policy == run_policy::lifo)
    return;  // the newest goes first, however often
  this->run([] {
    std::atomic<bool> had_its_turn = false;
    auto other = Kind::spawn([&] {
      Kind::yield();
      had_its_turn = true;
    });
    while (!had_its_turn)
      Kind::spawn([] {}).join();
    other.join();
  });
}

KIND_TEST(JoinOrder, AChildThatBlocksComesBackToItsJoiner) {
  this->run([] {
    typename Kind::event go;
    std::atomic<int> runs = 0;
    auto first = Kind::spawn([&] { ++runs; });
    auto waits = Kind::spawn([&] {
      go.wait();
      ++runs;
    });
    auto sets = Kind::spawn([&] { go.set(); });
    waits.join();
    sets.join();
    first.join();
    EXPECT_EQ(runs, 2);
  });
}

KIND_TEST(JoinOrder, ItsExceptionComesToTheJoiner) {
  this->run([] {
    auto first = Kind::spawn([] {});
    auto throws = Kind::spawn([] { throw std::runtime_error("child"); });
    auto last = Kind::spawn([] {});
    EXPECT_THROW(throws.join(), std::runtime_error);
    last.join();
    first.join();
  });
}

// The runtime ends while a fiber joins a child that it has entered, and that waits.
KIND_TEST(JoinOrder, TheEndUnwindsBoth) {
  int unwound = 0;
  struct counts {
    int& count;
    ~counts() { std::atomic_ref(count).fetch_add(1); }
  };
  {
    Kind ends;
    ends.run([&] {
      typename Kind::event* const never = new typename Kind::event;
      Kind::spawn([&unwound, never] {
        const counts mine{unwound};
        Kind::spawn([&unwound, never] {
          const counts its{unwound};
          const std::unique_ptr<typename Kind::event> owned(never);
          never->wait();
        }).join();
      }).detach();
      for (int i = 0; i < 20; ++i)
        Kind::yield();
    });
  }
  EXPECT_EQ(unwound, 2);
}

template <class Kind>
class SpawnNow : public kind_test<Kind> {};

KIND_TEST_UP_TO(1, SpawnNow, RunsTheChildLikeACall) {
  this->run([] {
    std::string order;
    auto later = Kind::spawn([&] { order += 'l'; });
    auto now = Kind::spawn_now([&] { order += 'n'; });
    order += '.';
    auto yields = Kind::spawn_now([&] {
      order += 'y';
      Kind::yield();
      order += 'Y';
    });
    order += ':';
    later.join();
    now.join();
    yields.join();
    if (detail::direct_entry) {
      EXPECT_EQ(order.substr(0, 3), "n.y");
    }
    EXPECT_EQ(order.size(), 6u);
  });
}

template <class Kind>
int count_by_spawn_now(int depth) {
  if (depth == 0)
    return 1;
  int left = 0;
  int right = 0;
  auto first = Kind::spawn_now([&left, depth] { left = count_by_spawn_now<Kind>(depth - 1); });
  auto second = Kind::spawn_now([&right, depth] { right = count_by_spawn_now<Kind>(depth - 1); });
  second.join();
  first.join();
  return left + right;
}

KIND_TEST(SpawnNow, GrowsATree) {
  this->run([] { EXPECT_EQ(count_by_spawn_now<Kind>(11), 2048); });
}

KIND_TEST(SpawnNow, AChildMayBlockFailOrBeDetached) {
  this->run([] {
    typename Kind::event go;
    int runs = 0;
    auto waits = Kind::spawn_now([&] {
      go.wait();
      ++runs;
    });
    auto throws = Kind::spawn_now([] { throw std::runtime_error("child"); });
    Kind::spawn_now([] {}).detach();
    go.set();
    waits.join();
    EXPECT_EQ(runs, 1);
    EXPECT_THROW(throws.join(), std::runtime_error);
  });
}

KIND_TEST(SpawnNow, OthersGetTheirTurn) {
  if (Kind::param.policy == run_policy::lifo)
    return;  // the newest goes first, however often
  this->run([] {
    std::atomic<bool> had_its_turn = false;
    auto other = Kind::spawn([&] {
      Kind::yield();
      had_its_turn = true;
    });
    while (!had_its_turn)
      Kind::spawn_now([] {}).join();
    other.join();
  });
}

// As many children that have ended, and are not joined, each with its stack.
KIND_TEST(SpawnNow, ManyEndBeforeTheyAreJoined) {
  this->run([] {
    int runs = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 600; ++i)
      all.push_back(Kind::spawn_now([&runs] { std::atomic_ref(runs).fetch_add(1); }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(runs, 600);
  });
}

KIND_TEST(SpawnNow, TheEndUnwindsBoth) {
  int unwound = 0;
  struct counts {
    int& count;
    ~counts() { std::atomic_ref(count).fetch_add(1); }
  };
  {
    Kind ends;
    ends.run([&] {
      Kind::spawn([&unwound] {
        const counts mine{unwound};
        Kind::spawn_now([&unwound] {
          const counts its{unwound};
          for (;;)
            Kind::yield();
        }).join();
      }).detach();
      for (int i = 0; i < 20; ++i)
        Kind::yield();
    });
  }
  EXPECT_EQ(unwound, 2);
}

}  // namespace
}  // namespace sennit
