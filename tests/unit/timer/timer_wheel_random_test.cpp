// The wheel of deadlines against a sorted map, at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "timer_wheels.hpp"

namespace timer_wheel_test {
namespace {

class against_map {
public:
  explicit against_map(std::uint64_t seed) : random_(seed), nodes_(300) {}

  void step() {
    switch (random_() % 8) {
      case 0:
        now_ = later(now_, distance(50));
        break;
      case 1:
        now_ = std::max(now_, wheel_.earliest() == never ? now_ : wheel_.earliest());
        break;
      case 2:
      case 3:
        take();
        break;
      default:
        add_or_remove(nodes_[random_() % (1 + random_() % nodes_.size())]);
    }
    check();
  }

  void drain() {
    while (!wheel_.empty() && !testing::Test::HasFailure()) {
      now_ = std::max(now_, wheel_.earliest());
      take();
    }
    EXPECT_TRUE(pending_.empty());
  }

private:
  struct node : timer_node {
    std::int64_t tick = 0;  // its place in the order
    std::multimap<time_point, node*>::iterator place;
  };

  // All magnitudes are as likely.
  nanoseconds distance(unsigned bits) {
    return nanoseconds(random_() & ((std::uint64_t{1} << (random_() % bits)) - 1));
  }

  void add_or_remove(node& n) {
    if (n.linked()) {
      wheel_.remove(n);
      pending_.erase(n.place);
      return;
    }
    const auto kind = random_() % 16;
    const time_point when = kind == 0   ? now_ - distance(50)
                            : kind == 1 ? never - distance(50)
                            : kind == 2 ? time_point::min()
                                        : later(now_, distance(kind < 8 ? 20 : 62));
    wheel_.add(n, when);
    n.tick = std::max(tick_of(when), passed_);
    n.place = pending_.emplace(when, &n);
  }

  void take() {
    auto* n = static_cast<node*>(wheel_.take_due(now_));
    if (n == nullptr) {
      ASSERT_TRUE(pending_.empty() || pending_.begin()->first > now_);
      ASSERT_GT(wheel_.earliest(), wheel_.empty() ? time_point::min() : now_);
      passed_ = std::max(passed_, tick_of(now_));
      return;
    }
    ASSERT_FALSE(n->linked());
    ASSERT_LE(n->when, now_);
    ASSERT_EQ(n->place->second, n);
    for (const auto& [when, other] : pending_)
      ASSERT_LE(n->tick, other->tick);
    passed_ = std::max(passed_, n->tick);
    pending_.erase(n->place);
  }

  void check() const {
    ASSERT_EQ(wheel_.size(), pending_.size());
    ASSERT_EQ(wheel_.empty(), pending_.empty());
    if (pending_.empty())
      ASSERT_EQ(wheel_.earliest(), never);
    else
      ASSERT_LE(wheel_.earliest(), pending_.begin()->first);
  }

  std::mt19937_64 random_;
  time_point now_ = start;
  std::int64_t passed_ = tick_of(start);
  timer_wheel wheel_{start};
  std::vector<node> nodes_;
  std::multimap<time_point, node*> pending_;
};

TEST(timer_wheel_random, agrees_with_a_map) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    against_map pair(seed);
    for (int i = 0; i < 10'000 && !HasFailure(); ++i)
      pair.step();
    pair.drain();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace timer_wheel_test
