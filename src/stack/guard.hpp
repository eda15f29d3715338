// How guards of stacks are made in a mapping.
#pragma once

#include <atomic>
#include <cstddef>

namespace sennit::inline v0_1::detail {

// The size of the kernel's pages, a multiple of page_size. Kernels for AArch64 may have pages of 16 or 64
// KiB, and most of those for PowerPC 64 have 64 KiB. Guards, and memory that is given back, consist of these
// pages.
std::size_t kernel_page_size() noexcept;
inline std::atomic<std::size_t> assumed_kernel_page{0};  // for tests; 0: the kernel is asked

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
