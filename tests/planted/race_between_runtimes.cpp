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

static void meet(int count) {  // orders nothing
  arrived.fetch_add(1, std::memory_order_relaxed);
  while (arrived.load(std::memory_order_relaxed) < count)
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
      meet(2);
      sennit::generator<int> inside([](auto& yield) {
        count();
        yield(1);
      });
      static_cast<void>(inside.begin());
      meet(4);
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
