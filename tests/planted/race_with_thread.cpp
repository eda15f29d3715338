// A fiber and an operating-system thread write the same object, and nothing orders them.
// sanitizer: thread
// expect: ThreadSanitizer: data race
// frame: from_fiber
// frame: from_thread
#include <atomic>
#include <mutex>
#include <thread>

#include "planted.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

static int shared;
static std::mutex guard;
static std::atomic<int> arrived{0};

// Relaxed, so that the meeting itself orders nothing.
static void meet(int count) {
  arrived.fetch_add(1, std::memory_order_relaxed);
  while (arrived.load(std::memory_order_relaxed) < count)
    std::this_thread::yield();
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
      meet(2);
      from_thread();
      meet(4);
    });
    runtime().run([] {
      spawn([] {
        this_fiber::yield();
        meet(2);
        from_fiber();
        meet(4);
      }).join();
    });
    other.join();
  });
}
