// A stack for tests of the switch: mapped, with a guard page at its low end.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "support/sanitizers.hpp"

namespace support {

class stack {
public:
  static constexpr size_t default_size = 256 * 1024;

  explicit stack(size_t size = default_size)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), size_((size + page_ - 1) / page_ * page_) {
    void* memory = mmap(nullptr, page_ + size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page_, PROT_NONE) != 0)
      abort();
    bottom_ = static_cast<char*>(memory) + page_;
  }
  ~stack() {
    // What AddressSanitizer remembers of frames that never returned must not outlive the mapping.
#if defined(SUPPORT_ASAN)
    ASAN_UNPOISON_MEMORY_REGION(bottom_, size_);
#endif
    munmap(bottom_ - page_, page_ + size_);
  }
  stack(const stack&) = delete;
  stack& operator=(const stack&) = delete;

  // 16-aligned; a few words above it may be used, as sennit_newlinked's link.
  void* top() const { return bottom_ + size_ - 64; }
  void* bottom() const { return bottom_; }
  size_t size() const { return size_; }
  bool contains(const void* address) const { return address >= bottom_ && address < bottom_ + size_; }

private:
  size_t page_;
  size_t size_;
  char* bottom_;
};

}  // namespace support
