// A fiber decides by a word of its stack that was never written, after other fibers have run.
// sanitizer: memory valgrind
// expect: MemorySanitizer: use-of-uninitialized-value|depends on uninitialised value
// frame: decide
#include <cstdlib>

#include "sanitizer_detect.hpp"
#include "sennit/channel.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"

[[gnu::noinline]] static int decide(const int* word) {
  if (*word < 0)
    std::abort();
  return 1;
}

static sennit::generator<int> numbers(int count) {
  return sennit::generator<int>([count](auto& yield) {
    for (int i = 0; i < count; ++i)
      yield(i);
  });
}

static void check(bool good) {
  if (!good)
    std::abort();
}

// Writes so many words of four, and decides by the last one.
template <class Yield>
[[gnu::noinline]] static int write_and_decide(int words, Yield yield) {
  int own[4];
  for (int i = 0; i < words; ++i)
    planted::opaque(&own[0])[i] = i;
  int sum = 0;
  for (const int number : numbers(10)) {  // on a stack of its own, which another used before
    yield();
    sum += decide(&number);
  }
  check(sum == 10);
  return decide(planted::opaque(&own[3]));
}

static void local_fibers(int words) {
  sennit::local::runtime().run([&] {
    const auto work = [](int count) { write_and_decide(count, sennit::local::this_fiber::yield); };
    for (int round = 0; round < 3; ++round) {  // the stacks, too, are used again
      auto first = sennit::local::spawn([&] { work(4); });
      auto second = sennit::local::spawn([&] { work(4); });
      first.join();
      second.join();
    }
    sennit::local::spawn([&] { work(words); }).join();
  });
}

static void parallel_fibers() {
  sennit::runtime({.workers = 2}).run([] {
    sennit::channel<int> results(4);
    for (int i = 0; i < 8; ++i)
      sennit::spawn([&] { results.send(write_and_decide(4, sennit::this_fiber::yield)); }).detach();
    for (int i = 0; i < 8; ++i)
      check(results.receive() == 1);
    auto now = sennit::spawn_now([] { check(write_and_decide(4, sennit::this_fiber::yield) == 1); });
    now.join();
  });
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    parallel_fibers();
    local_fibers(planted::opaque(planted::bug ? 3 : 4));
  });
}
