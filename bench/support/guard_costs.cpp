// What guards cost: guard_costs STACK GUARD COUNT takes so many stacks, in KiB, and touches the top of each.
// Prints, for each stack, the bytes of page tables and the nanoseconds to take it (which is to install its
// guard); and how many mappings all of them have. scripts/guard_costs makes a table of it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sennit/detail/stack/stack.hpp"

namespace {

std::size_t page_table_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmPTE:") {
      std::size_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  return 0;
}

// Of this process, in nanoseconds: others may be running.
double processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4)
    return std::fputs("usage: guard_costs STACK GUARD COUNT (KiB)\n", stderr), 2;
  using namespace sennit::detail;
  const std::size_t count = std::strtoull(argv[3], nullptr, 10);
  const stack_shape shape = stack_shape_of(std::strtoull(argv[1], nullptr, 10) * 1024 | small_stack_mark,
                                           std::strtoull(argv[2], nullptr, 10) * 1024);
  const std::size_t tables = page_table_bytes();
  const std::ptrdiff_t maps = mappings();
  std::vector<char*> tops(count);
  const double begin = processor_time();
  for (char*& top : tops)
    top = stack_take(shape).high();
  const double taken = processor_time() - begin;
  for (char* const top : tops)
    top[-1] = 1;
  std::printf("%.0f %.0f %td\n",
              static_cast<double>(page_table_bytes() - tables) / static_cast<double>(count),
              taken / static_cast<double>(count), mappings() - maps);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
