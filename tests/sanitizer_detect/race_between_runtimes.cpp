// Two fibers of two runtimes, on two threads, write the same object, and nothing orders them.
// sanitizer: thread
// expect: ThreadSanitizer: data race
// frame: count
#include <atomic>
#include <thread>

#include "counted_by_two.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

static std::atomic<int> arrived{0};

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
