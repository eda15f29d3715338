// A fiber that holds a lock of libc's, initialises what is static, or is called back where libc holds
// something, is not made to yield at its checks; once that is over, it is. On another thread than it began,
// too.
// RUN: %sennit_clangxx -O2 %s -o %t -mllvm -sennit-polls -mllvm -verify-machineinstrs %library
// RUN: timeout 60 %t && timeout 60 %t quickly
// RUN: %sennit_clangxx -O0 %s -o %t.0 -mllvm -sennit-polls %library
// RUN: timeout 60 %t.0
// Where libstdc++ is a part of the program:
// RUN: %sennit_clangxx -O2 -static-libstdc++ %s -o %t.s -mllvm -sennit-polls %library
// RUN: timeout 60 %t.s
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <shared_mutex>

#include "sennit/local/runtime.hpp"
#include "sennit/no_yield_guard.hpp"
#include "sennit/runtime.hpp"

namespace {

// Checks are nothing that the compiler knows to change any of these.
volatile int line;    // of the case that runs
volatile long turns;  // of the other fiber
volatile bool done;

#define must(so)                                                                   \
  do {                                                                             \
    if (!(so)) {                                                                   \
      std::fprintf(stderr, "line %d, case of line %d: %s\n", __LINE__, line, #so); \
      std::_Exit(1);                                                               \
    }                                                                              \
  } while (0)

// As if the slice were over: at the next check.
void request() {
  *const_cast<volatile unsigned char*>(&sennit_yield_requested) = 1;
}

// Has checks. Whether the other fiber has run meanwhile.
__attribute__((noinline)) bool gives_way() {
  const long before = turns;
  request();
  for (volatile int i = 0; i < 10; i = i + 1) {
  }
  return turns != before;
}

#define held(take, give)        \
  do {                          \
    line = __LINE__;            \
    must(gives_way());          \
    take;                       \
    must(!gives_way());         \
    const long before_ = turns; \
    give;                       \
    must(turns != before_);     \
    must(gives_way());          \
  } while (0)

timespec later(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += 60;
  return time;
}

void mutexes() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const timespec real = later(CLOCK_REALTIME), steady = later(CLOCK_MONOTONIC);
  held(pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex));
  held(pthread_mutex_trylock(&mutex), pthread_mutex_unlock(&mutex));
  held(pthread_mutex_timedlock(&mutex, &real), pthread_mutex_unlock(&mutex));
  held(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady), pthread_mutex_unlock(&mutex));
  // Tried in vain, none is held. Nor is one that was not there to be unlocked.
  line = __LINE__;
  pthread_mutexattr_t checks;
  pthread_mutexattr_init(&checks);
  pthread_mutexattr_settype(&checks, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t checked;
  pthread_mutex_init(&checked, &checks);
  must(pthread_mutex_unlock(&checked) != 0);
  held(pthread_mutex_lock(&checked), pthread_mutex_unlock(&checked));
  pthread_mutex_lock(&checked);
  must(pthread_mutex_trylock(&checked) != 0);
  pthread_mutex_unlock(&checked);
  must(gives_way());
  // Two.
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&checked);
  must(!gives_way());
  pthread_mutex_unlock(&mutex);
  must(!gives_way());
  pthread_mutex_unlock(&checked);
  must(gives_way());
}

void rwlocks() {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const timespec real = later(CLOCK_REALTIME), steady = later(CLOCK_MONOTONIC);
  held(pthread_rwlock_rdlock(&lock), pthread_rwlock_unlock(&lock));
  held(pthread_rwlock_tryrdlock(&lock), pthread_rwlock_unlock(&lock));
  held(pthread_rwlock_timedrdlock(&lock, &real), pthread_rwlock_unlock(&lock));
  held(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &steady), pthread_rwlock_unlock(&lock));
  held(pthread_rwlock_wrlock(&lock), pthread_rwlock_unlock(&lock));
  held(pthread_rwlock_trywrlock(&lock), pthread_rwlock_unlock(&lock));
  held(pthread_rwlock_timedwrlock(&lock, &real), pthread_rwlock_unlock(&lock));
  held(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &steady), pthread_rwlock_unlock(&lock));
}

void other_locks() {
  pthread_spinlock_t spin;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  held(pthread_spin_lock(&spin), pthread_spin_unlock(&spin));
  held(pthread_spin_trylock(&spin), pthread_spin_unlock(&spin));
  mtx_t c11;
  mtx_init(&c11, mtx_timed);
  const timespec real = later(CLOCK_REALTIME);
  held(mtx_lock(&c11), mtx_unlock(&c11));
  held(mtx_trylock(&c11), mtx_unlock(&c11));
  held(mtx_timedlock(&c11, &real), mtx_unlock(&c11));
  held(flockfile(stdin), funlockfile(stdin));
  held(ftrylockfile(stdin), funlockfile(stdin));
  // By their addresses.
  int (*volatile lock)(mtx_t*) = mtx_lock;
  int (*volatile unlock)(mtx_t*) = mtx_unlock;
  held(lock(&c11), unlock(&c11));
}

void of_the_standard_library() {
  std::mutex mutex;
  std::recursive_mutex recursive;
  std::shared_mutex shared;
  held(mutex.lock(), mutex.unlock());
  held((recursive.lock(), recursive.lock(), recursive.unlock()), recursive.unlock());
  held(shared.lock_shared(), shared.unlock_shared());
  line = __LINE__;
  {
    const std::scoped_lock both(mutex, recursive);
    must(!gives_way());
  }
  must(gives_way());
}

struct slow_to_make {
  explicit slow_to_make(bool fails) {
    must(!gives_way());
    if (fails)
      throw 1;
  }
};

void make_static(bool fails) {
  static const slow_to_make only(fails);
}

void static_initialisation() {
  line = __LINE__;
  must(gives_way());
  try {
    make_static(true);
    must(false);
  } catch (int) {
  }
  must(gives_way());
  make_static(false);
  must(gives_way());
  make_static(false);
  must(gives_way());
}

void must_not_give_way() {
  must(!gives_way());
}

void throw_if_first() {
  static bool first = true;
  must(!gives_way());
  if (std::exchange(first, false))
    throw 1;
}

void call_backs() {
  line = __LINE__;
  must(gives_way());
  static std::once_flag flag;
  try {
    std::call_once(flag, throw_if_first);
    must(false);
  } catch (int) {
  }
  must(gives_way());
  std::call_once(flag, throw_if_first);
  must(gives_way());
  line = __LINE__;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, must_not_give_way);
  static once_flag c11 = ONCE_FLAG_INIT;
  call_once(&c11, must_not_give_way);
  must(gives_way());
  line = __LINE__;
  bool visited = false;
  dl_iterate_phdr(
      [](dl_phdr_info*, std::size_t, void* said) {
        must(!gives_way());
        *static_cast<bool*>(said) = true;
        return 0;
      },
      &visited);
  must(visited && gives_way());
}

// Nothing of libc's is held there: it may yield, and others sort meanwhile.
void sorting_yields() {
  line = __LINE__;
  static bool sorted = false;
  static std::atomic<int> compared{0};
  const auto sort = [] {
    int numbers[1000];
    for (int i = 0; i < 1000; ++i)
      numbers[i] = i * 7919 % 1000;
    std::qsort(numbers, 1000, sizeof(int), [](const void* one, const void* other) {
      gives_way();
      ++compared;
      const int a = *static_cast<const int*>(one), b = *static_cast<const int*>(other);
      return a < b ? -1 : a > b;
    });
    for (int i = 0; i < 1000; ++i)
      must(numbers[i] == i);
  };
  auto beside = sennit::local::spawn([&] {
    sort();
    sorted = true;
  });
  const int before = compared;
  sort();
  must(compared - before > 1000 && turns > 1000);
  beside.join();
  must(sorted);
}

void in_forks() {
  line = __LINE__;
  pthread_atfork(must_not_give_way, must_not_give_way, must_not_give_way);
  const pid_t child = fork();
  if (child == 0) {
    must(!gives_way());  // a child has fibers of its parent's, and is not to run them
    _exit(0);
  }
  int status = 1;
  must(waitpid(child, &status, 0) == child && status == 0);
  must(gives_way());
}

int handled;

void handlers_on_their_own_stack() {
  line = __LINE__;
  struct sigaction action{};
  action.sa_handler = [](int) {
    must(!gives_way());
    ++handled;
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
  must(handled == 1 && gives_way());
}

__attribute__((noinline)) void compute() {
  for (volatile int i = 0; i < 10; i = i + 1) {
  }
}

SENNIT_NO_YIELD __attribute__((noinline)) void marked() {
  request();
  const long before = turns;
  for (volatile int i = 0; i < 10; i = i + 1) {
  }
  must(turns == before);
  compute();  // has its own
  must(turns != before);
}

void what_programs_say() {
  line = __LINE__;
  marked();
  held(sennit_no_yield_begin(), sennit_no_yield_end());
  {
    const sennit::no_yield_guard outer;
    const sennit::no_yield_guard inner;
    must(!gives_way());
    const long before = turns;
    sennit::local::this_fiber::yield();  // by itself
    must(turns != before && !gives_way());
  }
  must(gives_way());
  sennit_no_yield_end();  // of none
  must(gives_way());
}

void run_beside_other(void (*test)()) {
  done = false;
  auto other = sennit::local::spawn([] {
    while (!done) {
      turns = turns + 1;
      sennit::local::this_fiber::yield();
    }
  });
  test();
  done = true;
  other.join();
}

// It waits in an initialisation, and goes on on another thread: only itself is held, and all the time.
void moves() {
  sennit::detail::force_migration = true;
  sennit::runtime runtime({.workers = 2});
  runtime.run([] {
    static std::atomic<bool> made;
    made = false;
    auto maker = sennit::spawn([] {
      struct moved {
        moved() {
          const unsigned before = sennit::this_fiber::worker();
          while (sennit::this_fiber::worker() == before)
            sennit::this_fiber::yield();
          must(*sennit::detail::no_yield_count() == 1);
        }
      };
      static const moved once;
      must(*sennit::detail::no_yield_count() == 0);
      made = true;
    });
    while (!made) {
      must(*sennit::detail::no_yield_count() == 0);
      sennit::this_fiber::yield();
    }
    maker.join();
  });
}

bool quickly;

void at_exit() {
  must(!gives_way());
  std::_Exit(0);
}

void exits() {
  line = __LINE__;
  std::atexit(at_exit);
  std::at_quick_exit(at_exit);
  must(gives_way());
  if (quickly)
    std::quick_exit(1);
  std::exit(1);
}

}  // namespace

int main(int count, char**) {
  quickly = count > 1;
  sennit::local::runtime runtime;
  runtime.run([] {
    for (const auto test :
         {mutexes, rwlocks, other_locks, of_the_standard_library, static_initialisation, call_backs,
          sorting_yields, handlers_on_their_own_stack, what_programs_say, in_forks})
      run_beside_other(test);
  });
  moves();
  runtime.run([] { run_beside_other(exits); });
  return 1;
}
