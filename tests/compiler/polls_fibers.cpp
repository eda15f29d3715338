// A fiber that computes for ever gives way to others, and keeps all that it computes with.
// RUN: %sennit_clangxx -O2 %s -o %t -mllvm -sennit-polls -mllvm -verify-machineinstrs %library
// RUN: timeout 60 %t local && timeout 60 %t 1 && timeout 60 %t 2
// RUN: %sennit_clangxx -O0 %s -o %t.0 -mllvm -sennit-polls %library
// RUN: timeout 60 %t.0 local && timeout 60 %t.0 1 && timeout 60 %t.0 2
// RUN: %sennit_clangxx -O3 -march=native %s -o %t.3 -mllvm -sennit-polls %library
// RUN: timeout 60 %t.3 local && timeout 60 %t.3 2
// RUN: %sennit_clangxx -O2 -flto -c %s -o %t.lto.o -mllvm -sennit-polls
// RUN: %link -flto %t.lto.o -o %t.lto %library
// RUN: timeout 60 %t.lto local && timeout 60 %t.lto 2
// Checks by a page, which faults.
// RUN: %sennit_clangxx -O2 %s -o %t.page -mllvm -sennit-polls -mllvm -sennit-polls-check=page -mllvm -verify-machineinstrs %library
// RUN: timeout 60 %t.page local && timeout 60 %t.page 1 && timeout 60 %t.page 2
// RUN: %sennit_clangxx -O2 -flto -c %s -o %t.lto.o -mllvm -sennit-polls -mllvm -sennit-polls-check=page
// RUN: %link -flto %t.lto.o -o %t.lto %library
// RUN: timeout 60 %t.lto local && timeout 60 %t.lto 2
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/no_yield_guard.hpp"
#include "sennit/runtime.hpp"

using namespace std::chrono_literals;

static void must(bool so, const char* what) {
  if (!so) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

// No loop but this: ends only when another fiber runs.
static std::atomic<int> stop;
static std::atomic<int> spinning;

template <class Spawn>
static void a_spinner_is_stopped(Spawn spawn) {
  stop = spinning = 0;
  auto spinner = spawn([] {
    errno = 77;
    spinning = 1;
    while (!stop.load(std::memory_order_relaxed)) {
    }
    must(errno == 77, "errno is kept");
  });
  auto stopper = spawn([] {
    while (!spinning.load(std::memory_order_relaxed)) {
    }
    stop = 1;
  });
  spinner.join();
  stopper.join();
}

// One that waits for time is woken, too.
template <class Spawn, class Sleep>
static void a_sleeper_wakes(Spawn spawn, Sleep sleep) {
  stop = 0;
  auto sleeper = spawn([=] {
    sleep();
    stop = 1;
  });
  while (!stop.load(std::memory_order_relaxed)) {
  }
  sleeper.join();
}

__attribute__((noinline)) static double compute(int seed) {
  static thread_local double scratch[64];
  float narrow[64];
  double wide[64];
  double sum = 0;
  for (int round = 0; round < 3000; ++round) {
    for (int i = 0; i < 64; ++i)
      narrow[i] = float(i * seed + round) * 0.25f, wide[i] = i * 0.5 + seed;
    for (int i = 0; i < 64; ++i)
      wide[i] += narrow[i] * 1.5;
    for (int i = 0; i < 64; ++i)
      sum += wide[i] * (i & 3);
  }
  scratch[seed % 64] = sum;
  return scratch[seed % 64];
}

__attribute__((noinline)) static unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

template <class Spawn>
static void results_are_the_same(Spawn spawn) {
  double want[4];
  for (int i = 0; i < 4; ++i)
    want[i] = compute(i + 1);
  std::vector<decltype(spawn([] {}))> fibers;
  for (int i = 0; i < 4; ++i)
    fibers.push_back(spawn([=] {
      for (int round = 0; round < 20; ++round) {
        must(compute(i + 1) == want[i], "what is computed");
        must(fibonacci(18) == 2584, "recursion");
        try {
          if (fibonacci(10) == 55)
            throw std::runtime_error("thrown");
        } catch (const std::runtime_error& error) {
          must(fibonacci(12) == 144 && std::strcmp(error.what(), "thrown") == 0, "an exception");
        }
      }
    }));
  for (auto& each : fibers)
    each.join();
}

// Two counters are equal whenever another fiber of the worker looks.
template <class Spawn>
static void a_guard_keeps_others_out(Spawn spawn) {
  static volatile long one, other;
  one = 0;
  other = 0;
  stop = 0;
  auto writer = spawn([] {
    while (!stop.load(std::memory_order_relaxed)) {
      const sennit::no_yield_guard together;
      const long next = one + 1;
      one = next;
      for (volatile int i = 0; i < 50; i = i + 1) {
      }
      other = next;
    }
  });
  auto reader = spawn([] {
    for (long last = -1, looks = 0; looks < 20;) {
      must(one == other, "one without the other");
      if (one != last)
        last = one, ++looks;
    }
    stop = 1;
  });
  reader.join();
  writer.join();
}

// Inline code of Sennit's is not interrupted in the middle.
static void local_channels_stay_whole() {
  sennit::local::channel<int> numbers(3);
  constexpr int rounds = 300000;
  long sum = 0;
  auto send = [&] {
    for (int i = 0; i < rounds; ++i)
      numbers.send(1);
  };
  auto first = sennit::local::spawn(send);
  auto second = sennit::local::spawn(send);
  for (int i = 0; i < 2 * rounds; ++i)
    sum += *numbers.receive();
  first.join();
  second.join();
  must(sum == 2 * rounds, "a number was lost");
}

int main(int, char** arguments) {
  if (std::strcmp(arguments[1], "local") == 0) {
    sennit::local::runtime runtime({.time_slice = 100us});
    runtime.run([] {
      const auto spawn = [](auto function) { return sennit::local::spawn(function); };
      a_spinner_is_stopped(spawn);
      a_sleeper_wakes(spawn, [] { sennit::local::this_fiber::sleep_for(1ms); });
      results_are_the_same(spawn);
      a_guard_keeps_others_out(spawn);
      local_channels_stay_whole();
    });
  } else {
    const unsigned workers = static_cast<unsigned>(std::atoi(arguments[1]));
    sennit::runtime runtime({.workers = workers, .time_slice = 100us});
    runtime.run([workers] {
      const auto spawn = [](auto function) { return sennit::spawn(function); };
      a_spinner_is_stopped(spawn);
      a_sleeper_wakes(spawn, [] { sennit::this_fiber::sleep_for(1ms); });
      results_are_the_same(spawn);
      if (workers == 1)
        a_guard_keeps_others_out(spawn);
    });
  }
  return 0;
}
