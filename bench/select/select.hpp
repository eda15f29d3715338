// A fiber that selects.
//   otherwise    one select that need not wait: one case that cannot be done, and the case for that
//   ready        a value sent to one of two buffered channels in turn, and received by a select of both
//   synchronous  one value of three fibers that each send through an unbuffered channel, to a select of three
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"
#include "sennit/select.hpp"

namespace bench {

template <class Kind>
class selecting {
  using channel = typename Kind::template channel<std::uint64_t>;
  using library = typename Kind::library;

public:
  static void measure(program& program, const char* variant) {
    program.measure(variant, {{"work", "otherwise"}}, "select", 1, otherwise);
    program.measure(variant, {{"work", "ready"}}, "select", 1, ready);
    program.measure(variant, {{"work", "synchronous"}}, "value", 1, synchronous);
  }

private:
  static void otherwise(std::uint64_t count) {
    channel empty(1);
    std::uint64_t none = 0;
    for (std::uint64_t left = count; left != 0; --left)
      sennit::select(sennit::on_receive(*opaque(&empty), [](std::optional<std::uint64_t>) {}),
                     sennit::otherwise([&] { ++none; }));
    require(none == count, "an empty channel had a value");
  }

  static void ready(std::uint64_t count) {
    channel even(1), odd(1);
    std::uint64_t sum = 0, expected = 0;
    const auto add = [&](std::optional<std::uint64_t> value) { sum += *value; };
    for (std::uint64_t i = 0; i < count; ++i) {
      opaque(i % 2 == 0 ? &even : &odd)->send(i);
      sennit::select(sennit::on_receive(*opaque(&even), add), sennit::on_receive(*opaque(&odd), add));
      expected += i;
    }
    require(sum == expected, "a value was lost");
  }

  struct sender {
    channel* to;
    std::uint64_t count;
    static BENCH_INLINE void run(void* argument) {
      auto& user = *static_cast<sender*>(argument);
      for (std::uint64_t left = user.count; left != 0; --left)
        user.to->send(left);
    }
  };
  struct receiver {
    channel (&from)[3];
    std::uint64_t count;
    std::uint64_t sum = 0;
    static BENCH_INLINE void run(void* argument) {
      auto& user = *static_cast<receiver*>(argument);
      const auto add = [&](std::optional<std::uint64_t> value) { user.sum += *value; };
      for (std::uint64_t left = user.count; left != 0; --left)
        sennit::select(sennit::on_receive(user.from[0], add), sennit::on_receive(user.from[1], add),
                       sennit::on_receive(user.from[2], add));
    }
  };
  static void synchronous(std::uint64_t count) {
    channel channels[3];
    sender senders[3];
    std::uint64_t expected = 0;
    receiver to{channels, count};
    std::vector<typename library::fiber> running;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint64_t each = count / 3 + (i < count % 3 ? 1 : 0);
      expected += each * (each + 1) / 2;
      senders[i] = {&channels[i], each};
      running.emplace_back(distinct_entry<sender>(i), &senders[i]);
    }
    running.emplace_back(distinct_entry<receiver>(3), &to);
    for (auto& each : running)
      each.join();
    require(to.sum == expected, "a value was lost");
  }
};

}  // namespace bench
