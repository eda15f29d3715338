// A fiber and an operating-system thread write the same object, and nothing orders them.
// sanitizer: thread
// expect: ThreadSanitizer: data race
// frame: from_fiber
// frame: from_thread
#include <atomic>
#include <mutex>
#include <thread>

#include "sanitizer_detect.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

static int shared;
static std::mutex guard;
static std::atomic<int> steps_done{0};

// One after the other: of two writes at the very same moment ThreadSanitizer may miss both. Relaxed, so that
// the order in time orders nothing else.
static void wait_for(int step) {
  while (steps_done.load(std::memory_order_relaxed) < step)
    std::this_thread::yield();
}
static void done(int step) {
  steps_done.store(step, std::memory_order_relaxed);
}

[[gnu::noinline]] static void from_fiber() {
  std::unique_lock hold(guard, std::defer_lock);
  if (!planted::bug)
    hold.lock();
  ++shared;
}
[[gnu::noinline]] static void from_thread() {
  std::unique_lock hold(guard, std::defer_lock);
  if (!planted::bug)
    hold.lock();
  ++shared;
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    std::thread other([] {
      from_thread();
      done(1);
      wait_for(2);  // its stack stays known until the report
    });
    runtime().run([] {
      spawn([] {
        this_fiber::yield();
        wait_for(1);
        from_fiber();
        done(2);
      }).join();
    });
    other.join();
  });
}
