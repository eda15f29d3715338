// The C++ standard library's threads, as the workloads use a library of threads.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "../support/compiler.hpp"
#include "../support/distinct.hpp"
#include "bare_mutex_condition.hpp"

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

  using condition_variable = bare_mutex_condition<std::condition_variable, mutex>;
};

}  // namespace bench
