// Two fibers of one runtime, on two of its workers, write the same object, and nothing orders them.
// sanitizer: thread
// expect: ThreadSanitizer: data race
// frame: count
#include <atomic>
#include <thread>

#include "planted.hpp"
#include "sennit/runtime.hpp"

using namespace sennit;

static int plain;
static std::atomic<int> atomic{0};
static std::atomic<int> counted{0};

// Orders nothing but in time: of two writes at the very same moment ThreadSanitizer may miss both.
static void wait_for(int others) {
  while (counted.load(std::memory_order_relaxed) < others)
    std::this_thread::yield();
}

[[gnu::noinline]] static void count() {
  if (planted::bug)
    ++plain;
  else
    ++atomic;
}

static void work(int others) {
  this_fiber::yield();  // as fibers do
  wait_for(others);
  count();
  counted.fetch_add(1, std::memory_order_relaxed);
  wait_for(2);  // its stack stays known until the report
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    runtime rt({.workers = 2});
    fiber first = rt.spawn([] { work(0); }, {.pinned = 0});
    fiber second = rt.spawn([] { work(1); }, {.pinned = 1});
    first.join();
    second.join();
  });
}
