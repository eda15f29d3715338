// GNU Pth, as the workloads use a library of threads.
#pragma once

#include <pth.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

struct pth {
  static std::string version() {
    const long version = pth_version();
    return std::to_string(version >> 20) + '.' + std::to_string(version >> 12 & 0xff) + '.' +
           std::to_string(version & 0xff);
  }

  template <class Main>
  static void run(Main&& main) {
    require(pth_init(), "pth_init failed");
    main();
  }

  class fiber {
  public:
    explicit fiber(entry start, void* argument, std::size_t stack_size = 64 * 1024) {
      static const pth_attr_t attributes = pth_attr_new();
      pth_attr_set(attributes, PTH_ATTR_STACK_SIZE, static_cast<unsigned>(stack_size));
      thread_ = pth_spawn(attributes, start, argument);
      if (thread_ == nullptr)
        throw std::runtime_error("pth_spawn failed");
    }
    void join() { pth_join(thread_, nullptr); }

  private:
    pth_t thread_;
  };

  static void yield() { pth_yield(nullptr); }

  class mutex {
  public:
    mutex() { pth_mutex_init(&mutex_); }
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    void lock() { pth_mutex_acquire(&mutex_, FALSE, nullptr); }
    void unlock() { pth_mutex_release(&mutex_); }

  private:
    friend pth;
    pth_mutex_t mutex_;
  };

  class condition_variable {
  public:
    condition_variable() { pth_cond_init(&condition_); }
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;
    void wait(mutex& held) { pth_cond_await(&condition_, native(held), nullptr); }
    void notify_one() { pth_cond_notify(&condition_, FALSE); }

  private:
    pth_cond_t condition_;
  };

private:
  static pth_mutex_t* native(mutex& wrapped) { return &wrapped.mutex_; }
};

}  // namespace bench
