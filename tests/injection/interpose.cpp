// The functions that fail on request. They are defined in the program and thus found before those of libc.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <limits>

#include "injection.hpp"

namespace injection {

const std::array<kind_text, call_kinds> kind_texts = {{
    {"malloc", ENOMEM},        {"mmap", ENOMEM},           {"mprotect", ENOMEM},
    {"madvise", EINVAL},       {"pthread_create", EAGAIN}, {"pthread_key_create", EAGAIN},
    {"epoll_create1", EMFILE}, {"epoll_ctl", ENOSPC},      {"epoll_wait", EINTR},
    {"eventfd", EMFILE},       {"timerfd_create", EMFILE}, {"sigaltstack", ENOMEM},
    {"sigaction", EINVAL},     {"socket", EMFILE},         {"connect", EADDRNOTAVAIL},
    {"bind", EADDRINUSE},      {"listen", EADDRINUSE},     {"accept4", EMFILE},
    {"pipe2", EMFILE},         {"open", EMFILE},
}};

namespace {

constinit trial none;
constinit std::atomic<long> blocks{0};
constinit std::atomic<long> mapped{0};
constinit std::atomic<long> threads{0};

// Whether this call is to fail; then errno is set.
bool fails(call_kind which) noexcept {
  trial& now = *current;
  if (!now.armed.load(std::memory_order_relaxed))
    return false;
  const auto kind = static_cast<std::size_t>(which);
  const long number = now.calls[kind].fetch_add(1, std::memory_order_relaxed) + 1;
  // A signal interrupts a wait, and a storm of them does for some time.
  const long last = which == call_kind::epoll_wait ? now.first + 20 : std::numeric_limits<long>::max();
  if (now.kind != static_cast<int>(kind) || number < now.first || number > (now.on ? last : now.first))
    return false;
  now.injected.fetch_add(1, std::memory_order_relaxed);
  errno = kind_texts[kind].error;
  return true;
}

void* counted(void* memory) noexcept {
  if (memory != nullptr)
    blocks.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

template <class Function>
Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  static auto* const real = next<long(long, ...)>("syscall");
  return real(number, a, b, c, d, e, f);
}

struct thread_start {
  void* (*function)(void*);
  void* argument;
};
void* run_thread(void* start) {
  const thread_start what = *static_cast<thread_start*>(start);
  ::free(start);
  struct count {
    ~count() { threads.fetch_sub(1); }
  } const ends;
  return what.function(what.argument);
}

}  // namespace

constinit trial* current = &none;

balance balance_now() noexcept {
  balance now{blocks.load(), mapped.load(), 0, threads.load()};
  for (int descriptor = 0; descriptor < 200; ++descriptor)
    now.descriptors += ::fcntl(descriptor, F_GETFD) >= 0;
  return now;
}

}  // namespace injection

using namespace injection;

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);

void* malloc(std::size_t size) noexcept {
  return fails(call_kind::memory) ? nullptr : counted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return fails(call_kind::memory) ? nullptr : counted(__libc_calloc(count, size));
}
void* realloc(void* old, std::size_t size) noexcept {
  if (fails(call_kind::memory))
    return nullptr;
  void* const memory = __libc_realloc(old, size);
  return old == nullptr ? counted(memory) : memory;
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return fails(call_kind::memory) ? nullptr : counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  void* const memory = memalign(alignment, size);
  if (memory != nullptr)
    *result = memory;
  return memory != nullptr ? 0 : ENOMEM;
}
void free(void* memory) noexcept {
  if (memory != nullptr)
    blocks.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}

void* mmap(void* address, std::size_t size, int protection, int flags, int descriptor,
           off_t offset) noexcept {
  if (fails(call_kind::map))
    return MAP_FAILED;
  const long result = call(SYS_mmap, reinterpret_cast<long>(address), static_cast<long>(size), protection,
                           flags, descriptor, offset);
  if (result != -1)
    mapped.fetch_add(static_cast<long>(size), std::memory_order_relaxed);
  return reinterpret_cast<void*>(result);
}
int munmap(void* address, std::size_t size) noexcept {
  mapped.fetch_sub(static_cast<long>(size), std::memory_order_relaxed);
  return static_cast<int>(call(SYS_munmap, reinterpret_cast<long>(address), static_cast<long>(size)));
}
int mprotect(void* address, std::size_t size, int protection) noexcept {
  if (fails(call_kind::protect))
    return -1;
  return static_cast<int>(
      call(SYS_mprotect, reinterpret_cast<long>(address), static_cast<long>(size), protection));
}
int madvise(void* address, std::size_t size, int advice) noexcept {
  if (fails(call_kind::advise))
    return -1;
  return static_cast<int>(
      call(SYS_madvise, reinterpret_cast<long>(address), static_cast<long>(size), advice));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  static auto* const real =
      next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  if (fails(call_kind::create_thread))
    return EAGAIN;
  auto* const start = static_cast<thread_start*>(::malloc(sizeof(thread_start)));
  if (start == nullptr)
    return EAGAIN;
  *start = {function, argument};
  threads.fetch_add(1);
  const int error = real(thread, attributes, run_thread, start);
  if (error != 0) {
    threads.fetch_sub(1);
    ::free(start);
  }
  return error;
}
int pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) noexcept {
  static auto* const real = next<int(pthread_key_t*, void (*)(void*))>("pthread_key_create");
  return fails(call_kind::thread_key) ? EAGAIN : real(key, destroy);
}

int epoll_create1(int flags) noexcept {
  return fails(call_kind::epoll_create) ? -1 : static_cast<int>(call(SYS_epoll_create1, flags));
}
int epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) noexcept {
  if (operation != EPOLL_CTL_DEL && fails(call_kind::epoll_control))
    return -1;
  return static_cast<int>(call(SYS_epoll_ctl, epoll, operation, descriptor, reinterpret_cast<long>(event)));
}
int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  if (fails(call_kind::epoll_wait))
    return -1;
  return static_cast<int>(call(SYS_epoll_pwait, epoll, reinterpret_cast<long>(events), most, timeout, 0, 8));
}
long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& each : a)
    each = va_arg(list, long);
  va_end(list);
#if defined(SYS_epoll_pwait2)
  if (number == SYS_epoll_pwait2 && fails(call_kind::epoll_wait))
    return -1;
#endif
  return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
int eventfd(unsigned count, int flags) noexcept {
  return fails(call_kind::event) ? -1 : static_cast<int>(call(SYS_eventfd2, count, flags));
}
int timerfd_create(clockid_t clock, int flags) noexcept {
  return fails(call_kind::timer) ? -1 : static_cast<int>(call(SYS_timerfd_create, clock, flags));
}
int sigaltstack(const stack_t* stack, stack_t* old) noexcept {
  if (stack != nullptr && (stack->ss_flags & SS_DISABLE) == 0 && fails(call_kind::alternate_stack))
    return -1;
  return static_cast<int>(call(SYS_sigaltstack, reinterpret_cast<long>(stack), reinterpret_cast<long>(old)));
}
int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  static auto* const real = next<int(int, const struct sigaction*, struct sigaction*)>("sigaction");
  return action != nullptr && fails(call_kind::signal_action) ? -1 : real(signal, action, old);
}

int socket(int family, int type, int protocol) noexcept {
  return fails(call_kind::socket) ? -1 : static_cast<int>(call(SYS_socket, family, type, protocol));
}
int connect(int descriptor, const sockaddr* to, socklen_t size) {
  if (fails(call_kind::connect))
    return -1;
  return static_cast<int>(call(SYS_connect, descriptor, reinterpret_cast<long>(to), size));
}
int bind(int descriptor, const sockaddr* to, socklen_t size) noexcept {
  if (fails(call_kind::bind))
    return -1;
  return static_cast<int>(call(SYS_bind, descriptor, reinterpret_cast<long>(to), size));
}
int listen(int descriptor, int backlog) noexcept {
  return fails(call_kind::listen) ? -1 : static_cast<int>(call(SYS_listen, descriptor, backlog));
}
int accept4(int descriptor, sockaddr* from, socklen_t* size, int flags) {
  if (fails(call_kind::accept))
    return -1;
  return static_cast<int>(
      call(SYS_accept4, descriptor, reinterpret_cast<long>(from), reinterpret_cast<long>(size), flags));
}
int pipe2(int* ends, int flags) noexcept {
  return fails(call_kind::pipe) ? -1 : static_cast<int>(call(SYS_pipe2, reinterpret_cast<long>(ends), flags));
}
int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, int) : 0;
  va_end(list);
  if (fails(call_kind::open))
    return -1;
  return static_cast<int>(call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), flags, mode));
}

}  // extern "C"
