// The epoll driver.
#include "sennit/detail/io/epoll_driver.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <mutex>
#include <system_error>

#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/stack/sanitizer.hpp"

namespace sennit::inline v0_1::detail {

namespace {

using std::chrono::nanoseconds;

timespec to_timespec(nanoseconds time) noexcept {
  return {static_cast<time_t>(time.count() / 1'000'000'000), static_cast<long>(time.count() % 1'000'000'000)};
}

// EPOLLPRI: urgent data, after which a short read no longer means an empty buffer.
constexpr std::uint32_t reading = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t writing = EPOLLOUT | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t exact_from_now = EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR;

// `at`: the descriptor of any driver of the runtime.
int epoll_control(int at, int operation, io_source& source) noexcept {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET, .data = {.ptr = &source}};
  return ::epoll_ctl(at, operation, source.descriptor, &event) == 0 ? 0 : -errno;
}

}  // namespace

epoll_driver::epoll_driver(sennit_worker& owner) : owner_(owner) {
  descriptor_ = ::epoll_create1(EPOLL_CLOEXEC);
  event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  epoll_event wake{.events = EPOLLIN, .data = {.ptr = &event_}};
  epoll_event time{.events = EPOLLIN, .data = {.ptr = &timer_}};
  if (descriptor_ < 0 || event_ < 0 || timer_ < 0 ||
      ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, event_, &wake) != 0 ||
      ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, timer_, &time) != 0) {
    const int error = errno;
    for (int descriptor : {descriptor_, event_, timer_})
      if (descriptor >= 0)
        ::close(descriptor);
    throw std::system_error(
        error, std::generic_category(),
        "sennit: a runtime needs three file descriptors (epoll, eventfd, timerfd); raise `ulimit -n`");
  }
}

epoll_driver::~epoll_driver() {
  for (int descriptor : {timer_, event_, descriptor_})
    ::close(descriptor);
}

int epoll_driver::wait_for_events(epoll_event* events, int most, time_point deadline) noexcept {
  if (deadline == time_point::min())
    return ::epoll_wait(descriptor_, events, most, 0);
  if (deadline == never)
    return ::epoll_wait(descriptor_, events, most, -1);
  const time_point now = clock::now();
  const nanoseconds left = deadline > now ? deadline - now : nanoseconds::zero();
#if defined(SYS_epoll_pwait2)
  if (precise_) {
    const timespec limit = to_timespec(left);
    const long count =
        ::syscall(SYS_epoll_pwait2, descriptor_, events, most, &limit, nullptr, std::size_t{0});
    if (count >= 0)
      written_unseen(events, static_cast<std::size_t>(count) * sizeof *events);
    if (count >= 0 || (errno != ENOSYS && errno != EPERM))
      return static_cast<int>(count);
    precise_ = false;  // Linux before 5.11, or a seccomp filter that does not know it
  }
#endif
  // Rounded up: an early return would make the worker ask again, and again.
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  constexpr auto longest = std::numeric_limits<int>::max();
  return ::epoll_wait(descriptor_, events, most,
                      milliseconds < longest ? static_cast<int>(milliseconds) : longest);
}

bool epoll_driver::wait(time_point deadline) noexcept {
  constexpr int batch = 256;
  epoll_event events[batch];
  const int count = wait_for_events(events, batch, deadline);  // below 0: EINTR; the worker asks again
  for (int i = 0; i < count; ++i) {
    void* what = events[i].data.ptr;
    if (what == &event_) {
      drain(event_);
    } else if (what == &timer_) {
      drain(timer_);
      armed_ = never;
    } else {
      notify(*static_cast<io_source*>(what), events[i].events);
      // The other events proceed meanwhile. The fibers then do it for each other.
      if (i == 0)
        prefetch_successor(*this_worker());
    }
  }
  return count > 0;
}

// Leaves the owner's own descriptors: the owner may be about to sleep.
void epoll_driver::serve() noexcept {
  constexpr int batch = 64;
  epoll_event events[batch];
  const int count = ::epoll_wait(descriptor_, events, batch, 0);
  for (int i = 0; i < count; ++i)
    if (void* what = events[i].data.ptr; what != &event_ && what != &timer_)
      notify(*static_cast<io_source*>(what), events[i].events);
}

void epoll_driver::notify(io_source& source, std::uint32_t events) noexcept {
  if (source.driver.load(std::memory_order_acquire) != id()) [[unlikely]]
    return;  // closed, while a duplicate of its descriptor is open; or moved to another driver
  if ((events & exact_from_now) != 0)
    source.exact.store(true, std::memory_order_relaxed);
  const bool shared = !owner_.is_local();
  if ((events & reading) != 0)
    source_notify(source.reading, shared);
  if ((events & writing) != 0)
    source_notify(source.writing, shared);
}

void epoll_driver::drain(int descriptor) noexcept {
  std::uint64_t ignored;
  [[maybe_unused]] const auto got = ::read(descriptor, &ignored, sizeof ignored);
}

void epoll_driver::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(event_, &one, sizeof one);
}

void epoll_driver::arm(time_point deadline) noexcept {
  if (deadline == armed_)
    return;
  armed_ = deadline;
  itimerspec when{};
  if (deadline != never) {
    const nanoseconds since = deadline.time_since_epoch();
    when.it_value = to_timespec(std::max(since, nanoseconds(1)));  // 0 would disarm
  }
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

int epoll_driver::control(int operation, io_source& source) noexcept {
  return epoll_control(descriptor_, operation, source);
}

driver* epoll_driver::with_id(std::uint64_t id) noexcept {
  if (id == this->id())
    return this;
  if (id != 0)
    for (std::size_t i = 0; worker* const each = owner_.operations.worker_at(owner_, i); ++i)
      if (each->driver->id() == id)
        return each->driver.get();
  return nullptr;
}

// epoll identifies a file by its number, and another object watches that number here, e.g. the stream that
// owns it. So a borrowed descriptor gets a number of its own. An event then comes to both objects.
int epoll_driver::add_copy(io_source& source) noexcept {
  const int copy = ::fcntl(source.descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0)
    return -errno;
  source.descriptor.store(copy, std::memory_order_relaxed);
  source.copied = true;
  const int error = control(EPOLL_CTL_ADD, source);
  // A former copy had that number. A thread without a runtime, which cannot unregister it, has closed it.
  return error == -EEXIST ? control(EPOLL_CTL_MOD, source) : error;
}

// The number of a source that becomes ours is watched here already.
int epoll_driver::add_again(io_source& source, std::uint64_t registered) noexcept {
  if (source.borrowed && !source.copied && registered != id())
    return add_copy(source);
  // It was here before it was in another runtime. Otherwise the number is another object's.
  return registered != 0 ? control(EPOLL_CTL_MOD, source) : -EEXIST;
}

// `registered`: the driver that had the source. Once the source is ours, a fiber that waits for its other
// side may rely on us. So a failure is also reported to that fiber, which then tries for itself.
int epoll_driver::add(io_source& source, std::uint64_t registered) noexcept {
  int error = 0;
  {
    const lock_holder hold(source.registering);
    if (source.driver.load(std::memory_order_relaxed) != registered)
      return 0;  // that other fiber was quicker
    if (source.closed())
      return 0;  // unwatch() was here: the next owner must not find it registered
    source.driver.store(id(), std::memory_order_release);  // for any worker that serves it
    source.strays.store(0, std::memory_order_relaxed);
    driver* const former = registered != id() ? with_id(registered) : nullptr;
    const int number = source.descriptor.load(std::memory_order_relaxed);
    error = control(EPOLL_CTL_ADD, source);
    if (error == -EEXIST && former != nullptr && !owner_.unwinding) {
      // Another object watches the number here. The source stays registered with its former driver, and
      // EPOLL_CTL_MOD reports again what it has missed.
      source.driver.store(registered, std::memory_order_release);
      return epoll_control(former->descriptor(), EPOLL_CTL_MOD, source);
    }
    if (error == -EEXIST)
      error = add_again(source, registered);
    if (former != nullptr) {
      ::epoll_ctl(former->descriptor(), EPOLL_CTL_DEL, number, nullptr);
      count_unwatched(*former);
    }
    if (error == 0)
      count_watched(*this);
    else
      source.driver.store(0, std::memory_order_relaxed);
  }
  if (error != 0) {
    source_notify(source.reading, !owner_.is_local());
    source_notify(source.writing, !owner_.is_local());
  }
  return error;
}

int epoll_driver::watch(io_source& source) noexcept {
  const std::uint64_t registered = source.driver.load(std::memory_order_relaxed);
  if (registered == id())
    return 0;
  // Elsewhere in the runtime its events wake us as well. It moves when its fibers have.
  constexpr unsigned few = 4;
  if (with_id(registered) != nullptr && !owner_.unwinding &&
      source.strays.fetch_add(1, std::memory_order_relaxed) + 1 < few)
    return 0;
  return add(source, registered);
}

int epoll_driver::watch_again(io_source& source) noexcept {
  std::uint64_t registered;
  {
    const lock_holder hold(source.registering);  // its registration is complete
    registered = source.driver.load(std::memory_order_relaxed);
    if (driver* at = with_id(registered); at != nullptr && !owner_.unwinding)
      return epoll_control(at->descriptor(), EPOLL_CTL_MOD, source);
  }
  return add(source, registered);
}

void epoll_driver::unwatch(io_source& source, bool stays_open) noexcept {
  const lock_holder hold(source.registering);
  const std::uint64_t registered = source.driver.exchange(0, std::memory_order_relaxed);
  driver* const at = with_id(registered);
  if (at == nullptr)
    return;
  count_unwatched(*at);
  if (stays_open)  // closing the file descriptor takes others out
    ::epoll_ctl(at->descriptor(), EPOLL_CTL_DEL, source.descriptor, nullptr);
}

constinit driver_factory make_driver = [](sennit_worker& of) { return owner<driver>(new epoll_driver(of)); };

}  // namespace sennit::inline v0_1::detail
