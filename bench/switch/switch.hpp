// The loops every peer of the switch workload runs, on both sides of the switch. A peer brings its own
// switch, a callable that leaves for the other side and returns when control is back; one iteration is two
// switches.
//
// `live10` keeps ten values alive across the switch, on both sides, all of them needed after it. `value4`
// hands four values over, each way, and each side needs its values to continue.
#pragma once

#include <cstdint>

#include "../support/bench.hpp"

namespace bench {

struct four_values {
  std::uint64_t a, b, c, d;
};

/// What a side does with the values it got before it hands them back.
BENCH_INLINE four_values advance(const four_values& got) {
  return {got.a + 1, got.b + 1, got.c + 1, got.d + 1};
}

/// Loops `count` times over `exchange(values)`, which returns the other side's values, and checks that both
/// sides did their work.
template <class Exchange>
BENCH_INLINE void exchange_four_values(std::uint64_t count, Exchange&& exchange) {
  four_values values = {0, opaque(std::uint64_t{1}), 2, 3};
  for (std::uint64_t i = 0; i < count; ++i)
    values = advance(exchange(values));
  require(values.a == 2 * count && values.d == 2 * count + 3, "values were lost in a switch");
}

struct ten_values {
  std::uint64_t a = opaque(std::uint64_t{1}), b = opaque(std::uint64_t{2}), c = opaque(std::uint64_t{3}),
                d = opaque(std::uint64_t{4}), e = opaque(std::uint64_t{5}), f = opaque(std::uint64_t{6}),
                g = opaque(std::uint64_t{7}), h = opaque(std::uint64_t{8}), i = opaque(std::uint64_t{9}),
                j = opaque(std::uint64_t{10});

  /// What is done with them between two switches.
  BENCH_INLINE void add() {
    const std::uint64_t first = a;
    a += b, b += c, c += d, d += e, e += f, f += g, g += h, h += i, i += j, j += first;
  }

  BENCH_INLINE void need() const { consume(a + b + c + d + e + f + g + h + i + j); }
};

inline const volatile bool goes_on = true;

/// Whether the entered side continues: it does, but no compiler knows; otherwise compilers would need none of
/// its values.
BENCH_INLINE bool other_side_goes_on() {
  return goes_on;
}

/// Loops while `go()` over `leave()` with ten values alive.
template <class Go, class Leave>
BENCH_INLINE void loop_with_ten_values(Go&& go, Leave&& leave) {
  ten_values values;
  while (go()) {
    leave();
    values.add();
  }
  values.need();
}

/// The side that enters the other one `count` times.
template <class Leave>
BENCH_INLINE void loop_with_ten_values(std::uint64_t count, Leave&& leave) {
  loop_with_ten_values([&] { return count-- != 0; }, leave);
}

}  // namespace bench
