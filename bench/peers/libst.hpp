// State Threads, as the workloads use a library of threads. Its threads are never preempted and share one
// kernel thread, so its own idiom takes no mutex around a condition variable: `state_threads<idiom>` has a
// mutex that does nothing; `state_threads<locking>` has the library's.
#pragma once

#include <st.h>

#include <cstddef>
#include <stdexcept>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

enum class st_mutexes { idiom, locking };
inline constexpr st_mutexes idiom = st_mutexes::idiom;
inline constexpr st_mutexes locking = st_mutexes::locking;

template <st_mutexes Mutexes>
struct state_threads {
  static const char* version() { return "1.9"; }  // the header does not tell; Debian 12's

  template <class Main>
  static void run(Main&& main) {
    require(st_init() == 0, "st_init failed");
    main();
  }

  class fiber {
  public:
    explicit fiber(entry start, void* argument, std::size_t stack_size = 64 * 1024)
        : thread_(st_thread_create(start, argument, 1, static_cast<int>(stack_size))) {
      if (thread_ == nullptr)
        throw std::runtime_error("st_thread_create failed");
    }
    void join() { st_thread_join(thread_, nullptr); }

  private:
    st_thread_t thread_;
  };

  static void yield() { st_usleep(0); }

  class library_mutex {
  public:
    library_mutex() : mutex_(st_mutex_new()) {}
    library_mutex(const library_mutex&) = delete;
    library_mutex& operator=(const library_mutex&) = delete;
    ~library_mutex() { st_mutex_destroy(mutex_); }
    void lock() { st_mutex_lock(mutex_); }
    void unlock() { st_mutex_unlock(mutex_); }

  private:
    st_mutex_t mutex_;
  };
  struct no_mutex {
    void lock() {}
    void unlock() {}
  };
  using mutex = std::conditional_t<Mutexes == locking, library_mutex, no_mutex>;

  class condition_variable {
  public:
    condition_variable() : condition_(st_cond_new()) {}
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;
    ~condition_variable() { st_cond_destroy(condition_); }
    void wait(mutex& held) {
      held.unlock();
      st_cond_wait(condition_);
      held.lock();
    }
    void notify_one() { st_cond_signal(condition_); }

  private:
    st_cond_t condition_;
  };
};

}  // namespace bench
