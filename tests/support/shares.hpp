// How often a select chooses each of the cases that can be done.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace sennit {

template <class Channel>
void fill(Channel& to) {
  int value = 1;
  to.try_send(value);
}

// Six standard deviations, so that chance fails no run.
inline void expect_equal(std::span<const int> counts, int rounds) {
  const double share = 1.0 / static_cast<double>(counts.size());
  for (std::size_t i = 0; i != counts.size(); ++i)
    EXPECT_NEAR(counts[i], rounds * share, 6 * std::sqrt(rounds * share * (1 - share)))
        << "case " << i << " of " << counts.size();
}

// `select_one` receives from one of the channels, each of which has a buffer of one value, and returns its
// number. Values are in each set of at least two channels in turn.
template <class Channel, class Select>
void expect_equal_shares(const std::vector<Channel*>& channels, Select select_one) {
  constexpr int rounds = 1000;
  for (unsigned full = 0; full != 1u << channels.size(); ++full) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i != channels.size(); ++i) {
      channels[i]->try_receive();
      if ((full >> i & 1) != 0)
        ready.push_back(i);
    }
    if (ready.size() < 2)
      continue;
    std::vector<int> counts(channels.size());
    for (int round = 0; round < rounds; ++round) {
      for (const std::size_t each : ready)
        fill(*channels[each]);
      ++counts[select_one()];
    }
    std::vector<int> chosen;
    for (const std::size_t each : ready)
      chosen.push_back(counts[each]);
    SCOPED_TRACE(full);
    expect_equal(chosen, rounds);
  }
}

}  // namespace sennit
