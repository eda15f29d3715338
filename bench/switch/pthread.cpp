// Two kernel threads that hand control to each other through a futex, the least a blocking hand-off costs.
#include <gnu/libc-version.h>
#include <pthread.h>
#include <atomic>

#include "../support/futex.hpp"
#include "switch.hpp"

namespace {

enum turn : std::uint32_t { main_turn, other_turn, stop };

std::atomic<std::uint32_t> turn = main_turn;

void give(std::uint32_t to) {
  turn.store(to);
  bench::futex_wake_one(turn);
}

void wait_while(std::uint32_t value) {
  while (turn.load() == value)
    bench::futex_wait(turn, value);
}

void* other(void*) {
  for (;;) {
    wait_while(main_turn);
    if (turn.load() == stop)
      return nullptr;
    give(main_turn);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, gnu_get_libc_version(), "futex hand-off between two threads");

  pthread_t thread;
  bench::require(pthread_create(&thread, nullptr, &other, nullptr) == 0, "pthread_create failed");
  program.measure("futex", {}, "switch", 2, [](std::uint64_t count) {
    for (; count != 0; --count) {
      give(other_turn);
      wait_while(other_turn);
    }
  });
  give(stop);
  pthread_join(thread, nullptr);
}
