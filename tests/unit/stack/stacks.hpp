// Common parts of the tests of stacks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "sennit/detail/stack/stack.hpp"

namespace stack_test {

using namespace sennit::detail;

// Gives everything back at its end.
class held_stacks {
public:
  held_stacks() = default;
  held_stacks(const held_stacks&) = delete;
  held_stacks& operator=(const held_stacks&) = delete;
  ~held_stacks() { give_all(); }
  const stack_memory& take(std::size_t size) { return held_.emplace_back(stack_take(size)); }
  const stack_memory& take(stack_shape shape) { return held_.emplace_back(stack_take(shape)); }
  // Takes stacks until none is left; returns their number and the error.
  std::pair<std::size_t, std::system_error> take_all(std::size_t size) {
    try {
      for (;;)
        take(size);
    } catch (const std::system_error& error) {
      return {held_.size(), error};
    }
  }
  void give_last() {
    stack_give(held_.back());
    held_.pop_back();
  }
  void give_all() {
    while (!held_.empty())
      give_last();
  }
  const std::vector<stack_memory>& all() const { return held_; }

private:
  std::vector<stack_memory> held_;
};

// By a system call that reads from there: a fault that does not kill.
inline bool readable(const char* address) {
  static const std::array<int, 2> pipe_ends = [] {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    return ends;
  }();
  if (::write(pipe_ends[1], address, 1) != 1) {
    EXPECT_EQ(errno, EFAULT);
    return false;
  }
  char byte;
  return ::read(pipe_ends[0], &byte, 1) == 1;
}

// A record at the top of its stack, which is known under it.
inline stack_record& name_stack(const stack_memory& memory, const char* name) {
  auto* const record =
      ::new (memory.high() - sizeof(stack_record)) stack_record{.name = name, .memory = memory};
  stack_name(memory, record);
  return *record;
}

inline std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace stack_test
