// LWP, the threads of the Coda File System, as the workloads use a library of threads. They are never
// preempted and share one kernel thread, so their own idiom takes no mutex: `lwp<idiom>`; `lwp<locking>` has
// the library's lock. A thread waits for an event, which is an address.
#pragma once

#include <lwp/lock.h>
#include <lwp/lwp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

enum class lwp_mutexes { idiom, locking };

template <lwp_mutexes Mutexes>
struct lwp {
  static std::string version() { return "interface " + std::to_string(LWP_VERSION); }

  template <class Main>
  static void run(Main&& main) {
    PROCESS self;
    require(LWP_Init(LWP_VERSION, LWP_NORMAL_PRIORITY, &self) == LWP_SUCCESS, "LWP_Init failed");
    main();
  }

  class fiber {
    struct started {
      entry start;
      void* argument;
      bool ended = false;
    };

  public:
    explicit fiber(entry start, void* argument, std::size_t stack_size = 64 * 1024)
        : started_(new started{start, argument}) {
      PROCESS made;
      require(LWP_CreateProcess(&begin, static_cast<int>(stack_size), LWP_NORMAL_PRIORITY, started_.get(),
                                "bench", &made) == LWP_SUCCESS,
              "LWP_CreateProcess failed");
    }
    void join() {
      while (!started_->ended)
        LWP_WaitProcess(started_.get());
    }

  private:
    static void begin(void* of) {
      auto* const me = static_cast<started*>(of);
      me->start(me->argument);
      me->ended = true;
      LWP_NoYieldSignal(me);
    }
    std::unique_ptr<started> started_;
  };

  static void yield() { LWP_DispatchProcess(); }

  class library_mutex {
  public:
    library_mutex() { Lock_Init(&lock_); }
    void lock() { ObtainWriteLock(&lock_); }
    void unlock() { ReleaseWriteLock(&lock_); }

  private:
    Lock lock_;
  };
  struct no_mutex {
    void lock() {}
    void unlock() {}
  };
  using mutex = std::conditional_t<Mutexes == lwp_mutexes::locking, library_mutex, no_mutex>;

  class condition_variable {
  public:
    void wait(mutex& held) {
      held.unlock();
      LWP_WaitProcess(this);
      held.lock();
    }
    void notify_one() { LWP_NoYieldSignal(this); }
  };
};

using lwp_idiom = lwp<lwp_mutexes::idiom>;
using lwp_locking = lwp<lwp_mutexes::locking>;

}  // namespace bench
