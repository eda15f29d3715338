// How stacks get their guards: by MADV_GUARD_INSTALL, several in one system call where the kernel can, or by
// mprotect, one at a time.
#include "stack/guard.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "sennit/detail/stack/stack.hpp"
#include "stack/valgrind.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace sennit::inline v0_1::detail {

namespace {

constexpr std::size_t mappings_left_to_others = 2048;

// Whether a page is really guarded. The kernel returns EFAULT when it is asked to populate a guarded page. An
// emulator that accepts unknown advice, as qemu does, reports no error. (A system call that reads the page
// would be a safer check, but crashes Valgrind.)
bool is_guarded(char* page) noexcept {
  return ::madvise(page, page_size, MADV_POPULATE_READ) != 0 && errno == EFAULT;
}

// How many guards may split a mapping, which makes two mappings more.
std::size_t most_splits() noexcept {
  std::size_t mappings = 0;
  std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re");
  if (file == nullptr || std::fscanf(file, "%zu", &mappings) != 1)
    mappings = 65530;  // the kernel's default
  if (file != nullptr)
    std::fclose(file);
  return (std::max(mappings, 2 * mappings_left_to_others) - mappings_left_to_others) / 2;
}

bool split_mapping(const guarded_mapping& in, char* guard, std::size_t size) noexcept {
  static const std::size_t allowed = most_splits();
  static std::atomic<std::size_t> splits{0};
  const std::size_t most = std::min(allowed, most_split_guards.load(std::memory_order_relaxed));
  if (splits.fetch_add(1, std::memory_order_relaxed) < most && ::mprotect(guard, size, PROT_NONE) == 0) {
    if (in.populated && ::munlock(guard, size) == 0)
      ::madvise(guard, size, MADV_DONTNEED);  // or the guard takes memory
    return true;
  }
  splits.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool install_guard(guarded_mapping& in, char* guard, std::size_t size) noexcept {
  const guard_method method = guards.load(std::memory_order_relaxed);
  if (method == guard_method::split || in.split)
    return split_mapping(in, guard, size);
  if (::madvise(guard, size, MADV_GUARD_INSTALL) != 0) {
    in.split = true;
  } else if (method == guard_method::marked || is_guarded(guard)) {
    guards.store(guard_method::marked, std::memory_order_relaxed);
    return true;
  } else {
    guards.store(guard_method::split, std::memory_order_relaxed);
  }
  return split_mapping(in, guard, size);
}

#if defined(SYS_process_madvise)
// Returns how many of the first guards were made; 0: none, as where the kernel does not know the calling
// process by this number (before Linux 6.15), or a sandbox forbids the call. One system call for many guards
// saves an eighth of the time for each.
std::size_t install_many(const guard_row& row, std::size_t count) noexcept {
  static std::atomic<bool> refused{false};
  if (refused.load(std::memory_order_relaxed) || runs_on_valgrind())
    return 0;
  constexpr int pidfd_self = -10000;
  std::array<iovec, 32> ranges;
  count = std::min(count, ranges.size());
  for (std::size_t i = 0; i < count; ++i)
    ranges[i] = {row.first + i * row.stride, row.size};
  const long done = ::syscall(SYS_process_madvise, pidfd_self, ranges.data(), count, MADV_GUARD_INSTALL, 0);
  if (done < 0 && errno != EINVAL)  // that is locked memory, here only
    refused.store(true, std::memory_order_relaxed);
  return done < 0 ? 0 : static_cast<std::size_t>(done) / row.size;
}
#else
std::size_t install_many(const guard_row&, std::size_t) noexcept {
  return 0;
}
#endif

}  // namespace

std::size_t kernel_page_size() noexcept {
  const std::size_t assumed = assumed_kernel_page.load(std::memory_order_relaxed);
  return assumed != 0 ? assumed : static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t install_guards(guarded_mapping& in, const guard_row& row, std::size_t count) noexcept {
  if (count > 1 && !in.split && guards.load(std::memory_order_relaxed) == guard_method::marked)
    if (const std::size_t made = install_many(row, count); made != 0)
      return made;
  return install_guard(in, row.first, row.size) ? 1 : 0;
}

}  // namespace sennit::inline v0_1::detail
