// How guards of stacks are made in a mapping.
#pragma once

#include <cstddef>

namespace sennit::inline v0_1::detail {

struct guarded_mapping {
  bool split = false;      // MADV_GUARD_INSTALL fails here
  bool populated = false;  // by the kernel, when it was mapped: the process locks its memory
};

// Guards of one size at equal distances.
struct guard_row {
  char* first;
  std::size_t size;
  std::size_t stride = 0;
};

// Makes the first guard of a row, and up to `count` in all. Returns how many; 0: no mapping is left for the
// first.
std::size_t install_guards(guarded_mapping& in, const guard_row& row, std::size_t count) noexcept;

}  // namespace sennit::inline v0_1::detail
