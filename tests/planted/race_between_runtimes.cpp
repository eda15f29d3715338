// Two fibers of two runtimes, on two threads, write the same object, and nothing orders them.
// sanitizer: thread
// expect: ThreadSanitizer: data race
// frame: count
#include <atomic>
#include <thread>

#include "planted.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

static int plain;
static std::atomic<int> atomic{0};
static std::atomic<int> arrived{0};
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

static void work() {
  runtime().run([] {
    auto counter = spawn([] {
      wait_for(arrived.fetch_add(1, std::memory_order_relaxed));
      sennit::generator<int> inside([](auto& yield) {
        count();
        yield(1);
      });
      static_cast<void>(inside.begin());
      counted.fetch_add(1, std::memory_order_relaxed);
      wait_for(2);  // its stack stays known until the report
    });
    auto bystander = spawn([] { this_fiber::yield(); });
    counter.join();
    bystander.join();
  });
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    std::thread first(work), second(work);
    first.join();
    second.join();
  });
}
