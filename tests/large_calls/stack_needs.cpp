// Prints the smallest stack, a power of two, that each call runs on, as a table of
// docs/explanation/stacks.md.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "calls.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/stacks.hpp"

namespace {

// Whether the call returns on a stack of that size, whose guard no frame steps over.
bool fits(const large_calls::call& wanted, std::size_t size) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    bool right = false;
    sennit::local::runtime().run([&] {
      sennit::local::spawn(
          [&] {
            wanted.run([] {});
            right = true;
          },
          {.stack_size = sennit::small_stack(size), .guard_size = 1 << 20})
          .join();
    });
    std::_Exit(right ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main() try {
  large_calls::prepare();
  std::puts("| call | smallest stack |\n| --- | --- |");
  for (const large_calls::call& each : large_calls::all()) {
    std::size_t size = 4096;
    while (size < (8 << 20) && !fits(each, size))
      size *= 2;
    std::printf("| %s | %zu KiB |\n", each.name, size / 1024);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "stack_needs: %s\n", error.what());
  return 1;
}
