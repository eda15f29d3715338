// POSIX threads, as the workloads use a library of threads. What a library brings is described in README.md.
#pragma once

#include <gnu/libc-version.h>
#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "../support/distinct.hpp"

namespace bench {

struct pthreads {
  static const char* version() { return gnu_get_libc_version(); }

  template <class Main>
  static void run(Main&& main) {
    main();
  }

  class fiber {
  public:
    explicit fiber(entry start, void* argument, std::size_t stack_size = 64 * 1024) {
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      pthread_attr_setstacksize(&attributes, stack_size);
      const int error = pthread_create(&thread_, &attributes, start, argument);
      pthread_attr_destroy(&attributes);
      if (error != 0)
        throw std::runtime_error(std::string("pthread_create: ") + std::strerror(error));
    }
    void join() { pthread_join(thread_, nullptr); }

  private:
    pthread_t thread_;
  };

  static void yield() { sched_yield(); }

  class mutex {
  public:
    mutex() = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

  private:
    friend pthreads;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  };

  class condition_variable {
  public:
    condition_variable() = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;
    void wait(mutex& held) { pthread_cond_wait(&condition_, native(held)); }
    void notify_one() { pthread_cond_signal(&condition_); }

  private:
    pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
  };

private:
  static pthread_mutex_t* native(mutex& wrapped) { return &wrapped.mutex_; }
};

}  // namespace bench
