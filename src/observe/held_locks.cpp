// Which pthread locks a fiber holds: the functions that lock and unlock, and the report.
#include "sennit/detail/observe/held_locks.hpp"

#include "sennit/detail/sched/hooks.hpp"

void sennit::detail::watch_locks() noexcept {}

#if defined(SENNIT_KNOWS_HELD_LOCKS)

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "fault/write_message.hpp"
#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// ---- The locks that a thread's fiber holds.

struct held_lock {
  const volatile void* lock;
  const char* kind;
  unsigned times;
};

void report_locks(const char* does, const char* reason) noexcept;

struct thread_locks {
  fiber* who = nullptr;  // the fiber that holds them
  unsigned count = 0;
  held_lock held[8]{};  // more are not noted

  held_lock* find(const volatile void* lock) {
    for (unsigned i = 0; i < count; ++i)
      if (held[i].lock == lock)
        return &held[i];
    return nullptr;
  }
  void forget_all() {
    count = 0;
    if (auto*& report = sennit_thread_self()->report_held_locks; report == report_locks)
      report = nullptr;  // or switches are refused here (faults_are_fatal.hpp)
  }
};

[[gnu::tls_model("initial-exec")]] constinit thread_local thread_locks held_here;

// Callable before anything is initialised, and while a report is being made.
void note(const volatile void* lock, const char* kind) noexcept {
  const worker* const w = this_worker();
  if (w == nullptr || !w->ready.running())
    return;
  if (held_here.who != w->ready.current)  // another fiber has left with locks, in code without assertions
    held_here.forget_all();
  held_here.who = w->ready.current;
  if (held_lock* const known = held_here.find(lock))
    ++known->times;
  else if (held_here.count < std::size(held_here.held))
    held_here.held[held_here.count++] = {lock, kind, 1};
  if (auto*& report = sennit_thread_self()->report_held_locks; report == nullptr)
    report = report_locks;
}

void forget(const volatile void* lock) noexcept {
  if (held_here.count == 0)
    return;
  held_lock* const known = held_here.find(lock);
  if (known == nullptr || --known->times != 0)
    return;
  *known = held_here.held[--held_here.count];
  if (held_here.count == 0)
    held_here.forget_all();
}

// ---- The report.

// The reported places, each as a hash of the innermost frames.
constexpr std::size_t most_places = 32;
constexpr std::size_t frames_of_place = 16;
constinit std::atomic<std::uint64_t> places[most_places]{};

bool is_new(std::span<const std::uintptr_t> backtrace) noexcept {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::uintptr_t each : backtrace.first(std::min(backtrace.size(), frames_of_place)))
    hash = (hash ^ each) * 1099511628211u;
  for (std::atomic<std::uint64_t>& each : places) {
    std::uint64_t known = each.load(std::memory_order_relaxed);
    if (known == 0 && each.compare_exchange_strong(known, hash, std::memory_order_relaxed))
      return true;
    if (known == hash)
      return false;
  }
  return false;  // enough
}

struct held_locks_snapshot {
  fiber* who;
  const char* does;
  const char* reason;
  unsigned count;
  held_lock held[8];
  std::size_t depth;
  std::uintptr_t backtrace[backtrace_depth];
};

std::string text_of(const held_locks_snapshot& seen) {
  std::string text = "sennit: fiber " + std::to_string(fiber_id(*seen.who));
  if (seen.who->name[0] != 0)
    text += std::string(" \"") + seen.who->name + "\"";
  text += std::string(" ") + seen.does;
  if (seen.reason != nullptr)
    text += std::string(" (") + seen.reason + ")";
  text += " and holds";
  for (const held_lock& each : std::span(seen.held, seen.count)) {
    char address[24];
    std::snprintf(address, sizeof address, "%p", const_cast<const void*>(each.lock));
    text += std::string(&each == seen.held ? " pthread " : ", ") + each.kind + " " + address;
  }
  const bool stays = seen.who->home->is_local() || seen.who->flags.kind == waiter_kind::pinned_fiber;
  text +=
      stays ? "\n  (another fiber of this thread that locks it blocks the thread, and this fiber with it)\n"
            : "\n  (the fiber may resume on another thread, which must not unlock it; a fiber that locks it "
              "here blocks a worker)\n";
  for (std::size_t i = 0; i < seen.depth; ++i) {
    text += "  #" + std::to_string(i) + " ";
    describe_address(text, seen.backtrace[i]);
    text += "\n";
  }
  return text;
}

void print(const held_locks_snapshot& seen) noexcept {
  try {
    write_message(STDERR_FILENO, text_of(seen));
  } catch (const std::exception&) {
    std::fputs("sennit: a fiber holds a pthread lock; there is no memory to say more\n", stderr);
  }
}

void print_on_another_stack(held_locks_snapshot& seen) noexcept {
  if (on_large_stack([](void* what) { print(*static_cast<const held_locks_snapshot*>(what)); }, &seen))
    return;
  seen.depth = 0;
  print(seen);
}

// Forgets the locks first: locks that the report itself takes are noted in their place.
[[gnu::noinline]] void report_locks(const char* does, const char* reason) noexcept {
  const int kept = errno;
  held_locks_snapshot seen{held_here.who, does, reason, held_here.count, {}, 0, {}};
  std::ranges::copy(held_here.held, seen.held);
  held_here.forget_all();
  if (seen.who == this_worker()->ready.current) {
    seen.depth = backtrace_here(__builtin_dwarf_cfa(), seen.backtrace);
    if (is_new({seen.backtrace, seen.depth}))
      print_on_another_stack(seen);
  }
  errno = kept;
}

// ---- The functions.

// libc's function of that name. (Cached in a variable of each function, not in a table filled at the start:
// programs lock before that.) A static executable has no other function of that name. Then libc's own name of
// the function is used: it exists if libc itself calls the function.
template <class... Arguments>
struct next_function {
  using type = int (*)(Arguments...);
  const char* name;
  type own_name;  // null: it does not exist
  std::atomic<type> known{nullptr};

  int operator()(Arguments... arguments) noexcept {
    type call = known.load(std::memory_order_relaxed);
    if (call == nullptr) [[unlikely]]
      call = find();
    return call(arguments...);
  }

  [[gnu::cold, gnu::noinline]] type find() noexcept {
    const int kept = errno;
    auto found = reinterpret_cast<type>(::dlsym(RTLD_NEXT, name));
    if (found == nullptr)
      found = own_name;
    if (found == nullptr) {
      std::fprintf(stderr,
                   "sennit: a static executable lacks libc's %s: link libc as a shared library, or build "
                   "sennit with -DSENNIT_UNAWARE_OF_LOCKS\n",
                   name);
      std::abort();
    }
    known.store(found, std::memory_order_relaxed);
    errno = kept;
    return found;
  }
};

constexpr const char* kind_of(const pthread_mutex_t*) noexcept {
  return "mutex";
}
constexpr const char* kind_of(const pthread_rwlock_t*) noexcept {
  return "rwlock";
}
constexpr const char* kind_of(const pthread_spinlock_t*) noexcept {
  return "spin lock";
}

// A robust mutex whose owner died is locked, too.
template <class Lock, class... Rest>
int lock_noting(next_function<Lock*, Rest...>& next, Lock* lock, Rest... rest) noexcept {
  const int result = next(lock, rest...);
  if (result == 0 || result == EOWNERDEAD)
    note(lock, kind_of(lock));
  return result;
}

// Once unlocked, the lock may be gone. Its address still identifies it.
template <class Lock>
int unlock_noting(next_function<Lock*>& next, Lock* lock) noexcept {
  const int result = next(lock);
  if (result == 0)
    forget(lock);
  return result;
}

}  // namespace

}  // namespace sennit::inline v0_1::detail

// Weak: if the program defines them, too, these are not needed.
#define SENNIT_LOCK_FUNCTION(name, does, parameters, arguments, ...)         \
  [[gnu::weak]] int own_##name parameters noexcept __asm__("__" #name);      \
  [[gnu::weak]] int name parameters noexcept {                               \
    static constinit next_function<__VA_ARGS__> next{#name, own_##name, {}}; \
    return does arguments;                                                   \
  }
#define SENNIT_LOCKS(name, type) SENNIT_LOCK_FUNCTION(name, lock_noting, (type * lock), (next, lock), type*)
#define SENNIT_LOCKS_UNTIL(name, type)                                                                     \
  SENNIT_LOCK_FUNCTION(name, lock_noting, (type * lock, const timespec* deadline), (next, lock, deadline), \
                       type*, const timespec*)
#define SENNIT_LOCKS_UNTIL_BY(name, type)                                                        \
  SENNIT_LOCK_FUNCTION(name, lock_noting, (type * lock, clockid_t by, const timespec* deadline), \
                       (next, lock, by, deadline), type*, clockid_t, const timespec*)
#define SENNIT_UNLOCKS(name, type) \
  SENNIT_LOCK_FUNCTION(name, unlock_noting, (type * lock), (next, lock), type*)

using namespace sennit::detail;

extern "C" {

SENNIT_LOCKS(pthread_mutex_lock, pthread_mutex_t)
SENNIT_LOCKS(pthread_mutex_trylock, pthread_mutex_t)
SENNIT_LOCKS_UNTIL(pthread_mutex_timedlock, pthread_mutex_t)
SENNIT_LOCKS_UNTIL_BY(pthread_mutex_clocklock, pthread_mutex_t)
SENNIT_UNLOCKS(pthread_mutex_unlock, pthread_mutex_t)

SENNIT_LOCKS(pthread_rwlock_rdlock, pthread_rwlock_t)
SENNIT_LOCKS(pthread_rwlock_tryrdlock, pthread_rwlock_t)
SENNIT_LOCKS_UNTIL(pthread_rwlock_timedrdlock, pthread_rwlock_t)
SENNIT_LOCKS_UNTIL_BY(pthread_rwlock_clockrdlock, pthread_rwlock_t)
SENNIT_LOCKS(pthread_rwlock_wrlock, pthread_rwlock_t)
SENNIT_LOCKS(pthread_rwlock_trywrlock, pthread_rwlock_t)
SENNIT_LOCKS_UNTIL(pthread_rwlock_timedwrlock, pthread_rwlock_t)
SENNIT_LOCKS_UNTIL_BY(pthread_rwlock_clockwrlock, pthread_rwlock_t)
SENNIT_UNLOCKS(pthread_rwlock_unlock, pthread_rwlock_t)

SENNIT_LOCKS(pthread_spin_lock, pthread_spinlock_t)
SENNIT_LOCKS(pthread_spin_trylock, pthread_spinlock_t)
SENNIT_UNLOCKS(pthread_spin_unlock, pthread_spinlock_t)

}  // extern "C"

#endif
