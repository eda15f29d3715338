// The notes of a fiber when it parks: the time, and the fiber that ran next.
#include "sennit/detail/sched/successor_prefetch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "support/kinds.hpp"

namespace sennit {
namespace {

using detail::parked_at;
using detail::parked_for;
using detail::successor_in;
using detail::with_successor;

constexpr std::uint64_t hour = 3'600'000'000'000;  // ns
constexpr std::ptrdiff_t farthest = (std::ptrdiff_t{1} << 23) - 1;

TEST(ParkNote, HoldsTheSuccessorUnlessThatIsTooFarAway) {
  const std::uint64_t parked = parked_at(500 * 24 * hour);
  EXPECT_EQ(successor_in(parked), 0);
  for (const std::ptrdiff_t apart : {std::ptrdiff_t{0}, std::ptrdiff_t{1}, std::ptrdiff_t{-1},
                                     std::ptrdiff_t{1'000'000}, farthest, -farthest - 1})
    EXPECT_EQ(successor_in(with_successor(parked, apart)), apart);
  for (const std::ptrdiff_t apart : {farthest + 1, -farthest - 2})
    EXPECT_EQ(with_successor(parked, apart), parked) << apart;
}

TEST(ParkNote, HoldsTheTimeWithAnySuccessor) {
  constexpr std::int64_t unit = std::int64_t{1} << detail::park_unit;
  for (const std::uint64_t then : {std::uint64_t{1}, hour, 416 * 24 * hour, 1000 * 24 * hour})
    for (const std::int64_t passed : {std::int64_t{0}, 10 * unit, std::int64_t(100 * 24 * hour)})
      for (const std::ptrdiff_t apart : {std::ptrdiff_t{0}, std::ptrdiff_t{-7}, farthest}) {
        const std::int64_t told =
            parked_for(with_successor(parked_at(then), apart), then + static_cast<std::uint64_t>(passed));
        EXPECT_LE(std::abs(told - passed), unit) << then << " " << passed << " " << apart;
      }
}

TEST(ParkNote, IsNoneInAnAddressNorOfTheFuture) {
  const int here = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&here);
  EXPECT_EQ(successor_in(address), 0);
  EXPECT_EQ(parked_for(address, hour), -1);
  EXPECT_EQ(parked_for(0, hour), -1);
  EXPECT_EQ(parked_for(parked_at(hour), hour / 2), -1);
}

// More fibers than make a switch look ahead. A token goes round them, in an order that they have never had;
// then every second one ends, so that those who are read of are gone, or have begun anew.
template <class Kind>
class Successors : public kind_test<Kind> {};

KIND_TEST(Successors, ThatHaveEndedOrChangedDoNoHarm) {
  constexpr std::size_t count = detail::fiber_block::least + 1000;
  struct seat {
    typename Kind::fiber sits;
    typename Kind::event called;
    std::size_t next = 0;
    bool leaves = false;
  };
  this->run([&] {
    std::vector<seat> seats(count);
    std::mt19937 random(1);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::size_t hops = 0;
    typename Kind::event done;
    const auto sit = [&](seat& mine) {
      for (;;) {
        mine.called.wait();
        mine.called.reset();
        if (mine.leaves)
          return;
        ++hops;
        if (mine.next == count)
          done.set();
        else
          seats[mine.next].called.set();
      }
    };
    const auto spawn = [&](seat& one) { one.sits = Kind::spawn([&] { sit(one); }, {.stack_size = 8192}); };
    for (seat& each : seats)
      spawn(each);
    for (int round = 0; round < 6; ++round) {
      if (round % 2 == 0)
        std::ranges::shuffle(order, random);
      for (std::size_t i = 0; i < count; ++i)
        seats[order[i]].next = i + 1 < count ? order[i + 1] : count;
      seats[order.front()].called.set();
      done.wait();
      done.reset();
      EXPECT_EQ(hops, count * (round + 1u));
      for (std::size_t i = 0; i < count; i += 2) {
        seats[i].leaves = true;
        seats[i].called.set();
        seats[i].sits.join();
        seats[i].leaves = false;
        spawn(seats[i]);
      }
    }
    EXPECT_TRUE(detail::many_fibers.load());
    for (seat& each : seats) {
      each.leaves = true;
      each.called.set();
      each.sits.join();
    }
  });
}

}  // namespace
}  // namespace sennit
