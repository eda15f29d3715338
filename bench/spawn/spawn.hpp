// Spawn a fiber that does nothing, and join it; eight different functions take turns.
#pragma once

#include <cstdint>
#include <utility>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

template <unsigned Index>
void* return_at_once(void*) {
  asm volatile("" : : "i"(Index));
  return nullptr;
}

/// Call it from a fiber.
template <class Library>
void measure_spawn(program& program, const char* variant) {
  static constexpr entry entries[] = {&return_at_once<0>, &return_at_once<1>, &return_at_once<2>,
                                      &return_at_once<3>, &return_at_once<4>, &return_at_once<5>,
                                      &return_at_once<6>, &return_at_once<7>};
  program.measure(variant, {}, "spawn", 1, [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      typename Library::fiber child(opaque(entries[i % 8]), nullptr);
      child.join();
    }
  });
}

}  // namespace bench
