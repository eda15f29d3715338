// For tests of restartable(): memory that is not there, and fibers that read it.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>

#include "exception_servers.hpp"

namespace sennit {

// Pages that may not be touched. Page n holds n + 1 once it is open.
class closed_pages {
public:
  explicit closed_pages(std::size_t count) : count_(count) {
    at_ = static_cast<char*>(::mmap(nullptr, size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (at_ == MAP_FAILED)
      std::abort();
  }
  ~closed_pages() { ::munmap(at_, size()); }
  closed_pages(const closed_pages&) = delete;
  closed_pages& operator=(const closed_pages&) = delete;

  std::size_t count() const { return count_; }
  volatile int* page(std::size_t n) const {
    return reinterpret_cast<volatile int*>(at_ + n * support::page_size);
  }
  void open(void* touched) const {
    const auto n = static_cast<std::size_t>(static_cast<char*>(touched) - at_) / support::page_size;
    ASSERT_LT(n, count_);
    EXPECT_EQ(::mprotect(at_ + n * support::page_size, support::page_size, PROT_READ | PROT_WRITE), 0);
    *page(n) = static_cast<int>(n) + 1;
  }

private:
  std::size_t size() const { return count_ * support::page_size; }
  std::size_t count_;
  char* at_;
};

// Adds up pages.
struct reader {
  const closed_pages* pages;
  std::size_t next = 0;
  std::size_t end = 0;
  long sum = 0;
  int begun = 0;
};

struct touched_once {
  volatile int* at;
  int begun = 0;
};
[[gnu::noinline]] inline continuation touch(touched_once* me) {
  ++me->begun;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  *me->at = 1;
  return {};
}

// A server that opens the page, until it is closed. `wanted`: whether the fibers are to have no stack.
template <class Kind>
typename Kind::fiber serve_pages(typename Kind::exception_server& server, const closed_pages& pages,
                                 bool wanted) {
  return Kind::spawn([&server, &pages, wanted] {
    while (auto fault = server.receive()) {
      EXPECT_EQ(fault.stackless(), wanted);
      pages.open(fault.address());
      fault.reply(verdict::resume);
    }
  });
}

}  // namespace sennit
