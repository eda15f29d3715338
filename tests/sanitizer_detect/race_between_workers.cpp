// Two fibers of one runtime, on two of its workers, write the same object, and nothing orders them.
// sanitizer: thread
// expect: ThreadSanitizer: data race
// frame: count
#include <atomic>

#include "counted_by_two.hpp"
#include "sennit/runtime.hpp"

using namespace sennit;

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
