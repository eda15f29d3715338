// Replacements for libc's functions that lock or call back, for code that is compiled with checks
// (compiler/no_yield.hpp). A fiber must not be forced to yield while it holds such a lock, or in such a call.
//
// Another fiber of the worker that wants the lock would block the thread, and the holder with it. Some locks
// let their thread pass: recursive ones, those of FILEs and of the list of loaded objects. Then the other
// fiber would see half changed data. This also holds for initialisation that is done once: a later caller
// blocks the thread until it is complete.
//
// This uses only the two functions of no_yield.h. So programs with their own runtime for checks can use it,
// too.
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "sennit/no_yield.h"

namespace {

// An exception may leave the called function.
struct no_yield {
  no_yield() noexcept { sennit_no_yield_begin(); }
  ~no_yield() { sennit_no_yield_end(); }
  no_yield(const no_yield&) = delete;
  no_yield& operator=(const no_yield&) = delete;
};

// A robust mutex whose owner died is locked, too.
int locked(int result) noexcept {
  if (result == 0 || result == EOWNERDEAD)
    sennit_no_yield_begin();
  return result;
}
int unlocked(int result) noexcept {
  if (result == 0)
    sennit_no_yield_end();
  return result;
}

}  // namespace

// NOLINTBEGIN: only the plugin declares them.
#define SENNIT_LOCKS(name, type)  \
  int sennit_##name(type* lock);  \
  int sennit_##name(type* lock) { \
    return locked(name(lock));    \
  }
#define SENNIT_LOCKS_UNTIL(name, type)                      \
  int sennit_##name(type* lock, const timespec* deadline);  \
  int sennit_##name(type* lock, const timespec* deadline) { \
    return locked(name(lock, deadline));                    \
  }
#define SENNIT_LOCKS_UNTIL_BY(name, type)                                 \
  int sennit_##name(type* lock, clockid_t by, const timespec* deadline);  \
  int sennit_##name(type* lock, clockid_t by, const timespec* deadline) { \
    return locked(name(lock, by, deadline));                              \
  }
#define SENNIT_UNLOCKS(name, type) \
  int sennit_##name(type* lock);   \
  int sennit_##name(type* lock) {  \
    return unlocked(name(lock));   \
  }
// NOLINTEND

extern "C" {

SENNIT_LOCKS(pthread_mutex_lock, pthread_mutex_t)
SENNIT_LOCKS(pthread_mutex_trylock, pthread_mutex_t)
SENNIT_LOCKS_UNTIL(pthread_mutex_timedlock, pthread_mutex_t)
SENNIT_UNLOCKS(pthread_mutex_unlock, pthread_mutex_t)

SENNIT_LOCKS(pthread_rwlock_rdlock, pthread_rwlock_t)
SENNIT_LOCKS(pthread_rwlock_tryrdlock, pthread_rwlock_t)
SENNIT_LOCKS_UNTIL(pthread_rwlock_timedrdlock, pthread_rwlock_t)
SENNIT_LOCKS(pthread_rwlock_wrlock, pthread_rwlock_t)
SENNIT_LOCKS(pthread_rwlock_trywrlock, pthread_rwlock_t)
SENNIT_LOCKS_UNTIL(pthread_rwlock_timedwrlock, pthread_rwlock_t)
SENNIT_UNLOCKS(pthread_rwlock_unlock, pthread_rwlock_t)

#if defined(__GLIBC__)
SENNIT_LOCKS_UNTIL_BY(pthread_mutex_clocklock, pthread_mutex_t)
SENNIT_LOCKS_UNTIL_BY(pthread_rwlock_clockrdlock, pthread_rwlock_t)
SENNIT_LOCKS_UNTIL_BY(pthread_rwlock_clockwrlock, pthread_rwlock_t)
#endif

SENNIT_LOCKS(pthread_spin_lock, pthread_spinlock_t)
SENNIT_LOCKS(pthread_spin_trylock, pthread_spinlock_t)
SENNIT_UNLOCKS(pthread_spin_unlock, pthread_spinlock_t)

static_assert(thrd_success == 0);
SENNIT_LOCKS(mtx_lock, mtx_t)
SENNIT_LOCKS(mtx_trylock, mtx_t)
SENNIT_LOCKS_UNTIL(mtx_timedlock, mtx_t)
SENNIT_UNLOCKS(mtx_unlock, mtx_t)

void sennit_flockfile(FILE* file);
void sennit_flockfile(FILE* file) {
  flockfile(file);
  sennit_no_yield_begin();
}
SENNIT_LOCKS(ftrylockfile, FILE)
void sennit_funlockfile(FILE* file);
void sennit_funlockfile(FILE* file) {
  funlockfile(file);
  sennit_no_yield_end();
}

// The initialisation of a static variable in a function. 1: the caller does it, and reports its end.
int sennit___cxa_guard_acquire(abi::__guard* guard);
int sennit___cxa_guard_acquire(abi::__guard* guard) {
  const int mine = abi::__cxa_guard_acquire(guard);
  if (mine != 0)
    sennit_no_yield_begin();
  return mine;
}
void sennit___cxa_guard_release(abi::__guard* guard);
void sennit___cxa_guard_release(abi::__guard* guard) {
  abi::__cxa_guard_release(guard);
  sennit_no_yield_end();
}
void sennit___cxa_guard_abort(abi::__guard* guard);
void sennit___cxa_guard_abort(abi::__guard* guard) {
  abi::__cxa_guard_abort(guard);
  sennit_no_yield_end();
}

int sennit_pthread_once(pthread_once_t* flag, void (*call)(void));
int sennit_pthread_once(pthread_once_t* flag, void (*call)(void)) {
  const no_yield held;
  return pthread_once(flag, call);
}
void sennit_call_once(once_flag* flag, void (*call)(void));
void sennit_call_once(once_flag* flag, void (*call)(void)) {
  const no_yield held;
  call_once(flag, call);
}
int sennit_dl_iterate_phdr(int (*visit)(dl_phdr_info*, std::size_t, void*), void* argument);
int sennit_dl_iterate_phdr(int (*visit)(dl_phdr_info*, std::size_t, void*), void* argument) {
  const no_yield held;
  return dl_iterate_phdr(visit, argument);
}
// Runs the handlers of pthread_atfork.
pid_t sennit_fork(void);
pid_t sennit_fork(void) {
  const no_yield held;
  return fork();
}
// Runs the handlers of atexit and at_quick_exit, and destructors of static variables.
[[noreturn]] void sennit_exit(int status);
[[noreturn]] void sennit_exit(int status) {
  sennit_no_yield_begin();
  std::exit(status);
}
[[noreturn]] void sennit_quick_exit(int status);
[[noreturn]] void sennit_quick_exit(int status) {
  sennit_no_yield_begin();
  std::quick_exit(status);
}

}  // extern "C"
