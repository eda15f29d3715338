// An instruction faults, and a handler resumes it: the way there and back. `skip`: the instruction is
// illegal, and is skipped; nothing else is done. `page`: it touches a closed page, which the handler opens.
// (One call closes all pages again when each has been touched.)
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "../support/bench.hpp"

namespace bench {

inline constexpr std::uint64_t illegal_instruction_size = 2;  // of ud2

class closed_pages {
public:
  static constexpr std::size_t size = 4096;
  static constexpr std::size_t count = 1024;

  closed_pages()
      : at_(static_cast<char*>(
            ::mmap(nullptr, size * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (at_ == MAP_FAILED)
      std::abort();
    for (std::size_t i = 0; i < count; ++i)
      at_[i * size] = 1;
  }
  ~closed_pages() { ::munmap(at_, size * count); }
  closed_pages(const closed_pages&) = delete;
  closed_pages& operator=(const closed_pages&) = delete;

  void touch_one() const {
    ::mprotect(at_, size, PROT_NONE);
    *const_cast<volatile char*>(at_) = 2;
  }
  void touch_all() const {
    ::mprotect(at_, size * count, PROT_NONE);
    for (std::size_t i = 0; i < count; ++i)
      *const_cast<volatile char*>(at_ + i * size) = 2;
  }
  static void open(void* touched) {
    ::mprotect(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(touched) & ~(size - 1)), size,
               PROT_READ | PROT_WRITE);
  }

private:
  char* const at_;
};

/// For peers with a handler that repairs faults.
inline void measure_exception(program& program, const char* variant) {
#if defined(__x86_64__)
  program.measure(variant, {{"fault", "skip"}}, "fault", 1, [](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      __asm__ volatile("ud2");
  });
#endif
  const closed_pages pages;
  program.measure(variant, {{"fault", "page"}}, "fault", closed_pages::count, [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      pages.touch_all();
  });
}

}  // namespace bench
