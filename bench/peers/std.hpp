// The C++ standard library's threads, as the workloads use a library of threads.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "../support/compiler.hpp"
#include "../support/distinct.hpp"

namespace bench {

struct standard_threads {
  static const char* version() { return BENCH_COMPILER_VERSION; }

  template <class Main>
  static void run(Main&& main) {
    main();
  }

  class fiber {
  public:
    explicit fiber(entry start, void* argument) : thread_(start, argument) {}
    void join() { thread_.join(); }

  private:
    std::thread thread_;
  };

  using mutex = std::mutex;

  class condition_variable {
  public:
    void wait(mutex& held) {
      std::unique_lock lock(held, std::adopt_lock);
      condition_.wait(lock);
      lock.release();
    }
    void notify_one() { condition_.notify_one(); }

  private:
    std::condition_variable condition_;
  };
};

}  // namespace bench
