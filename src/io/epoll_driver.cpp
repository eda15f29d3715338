// The epoll driver.
#include "sennit/detail/io/epoll_driver.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace sennit::detail {

namespace {

using std::chrono::nanoseconds;

timespec to_timespec(nanoseconds time) noexcept {
  return {static_cast<time_t>(time.count() / 1'000'000'000), static_cast<long>(time.count() % 1'000'000'000)};
}

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// EPOLLPRI: urgent data, after which a short read no longer means an empty buffer.
constexpr std::uint32_t reading = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t writing = EPOLLOUT | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t exact_from_now = EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR;

}  // namespace

epoll_driver::epoll_driver() : id_(next_id()) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  epoll_event wake{.events = EPOLLIN, .data = {.ptr = &event_}};
  epoll_event time{.events = EPOLLIN, .data = {.ptr = &timer_}};
  if (epoll_ < 0 || event_ < 0 || timer_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &wake) != 0 ||
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &time) != 0) {
    const int error = errno;
    for (int descriptor : {epoll_, event_, timer_})
      if (descriptor >= 0)
        ::close(descriptor);
    throw std::system_error(
        error, std::generic_category(),
        "sennit: a runtime needs three file descriptors (epoll, eventfd, timerfd); raise `ulimit -n`");
  }
}

epoll_driver::~epoll_driver() {
  for (int descriptor : {timer_, event_, epoll_})
    ::close(descriptor);
}

int epoll_driver::wait_for_events(epoll_event* events, int most, time_point deadline) noexcept {
  if (deadline == time_point::min())
    return ::epoll_wait(epoll_, events, most, 0);
  if (deadline == never)
    return ::epoll_wait(epoll_, events, most, -1);
  const time_point now = clock::now();
  const nanoseconds left = deadline > now ? deadline - now : nanoseconds::zero();
#if defined(SYS_epoll_pwait2)
  if (precise_) {
    const timespec limit = to_timespec(left);
    const long count = ::syscall(SYS_epoll_pwait2, epoll_, events, most, &limit, nullptr, std::size_t{0});
    if (count >= 0 || (errno != ENOSYS && errno != EPERM))
      return static_cast<int>(count);
    precise_ = false;  // Linux before 5.11, or a seccomp filter that does not know it
  }
#endif
  // Rounded up: an early return would make the worker ask again, and again.
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  constexpr auto longest = std::numeric_limits<int>::max();
  return ::epoll_wait(epoll_, events, most,
                      milliseconds < longest ? static_cast<int>(milliseconds) : longest);
}

void epoll_driver::wait(time_point deadline) noexcept {
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
      tell(*static_cast<io_source*>(what), events[i].events);
      // The other events go on meanwhile. The fibers then do it for each other.
      if (i == 0)
        prefetch_successor(*this_worker());
    }
  }
}

void epoll_driver::tell(io_source& source, std::uint32_t events) noexcept {
  if (source.driver.load(std::memory_order_relaxed) != id_) [[unlikely]]
    return;  // closed, but for a duplicate of its file descriptor
  if ((events & exact_from_now) != 0)
    source.exact = true;
  if ((events & reading) != 0) {
    source.readable = true;
    source_wake(source.reader);
  }
  if ((events & writing) != 0) {
    source.writable = true;
    source_wake(source.writer);
  }
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
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET, .data = {.ptr = &source}};
  return ::epoll_ctl(epoll_, operation, source.descriptor, &event) == 0 ? 0 : -errno;
}

int epoll_driver::add(io_source& source) noexcept {
  int error = control(EPOLL_CTL_ADD, source);
  if (error == -EEXIST && source.driver.load(std::memory_order_relaxed) != 0)
    error = control(EPOLL_CTL_MOD, source);  // it was here before it was in another runtime
  if (error == 0) {
    ++watched_;
    source.driver.store(id_, std::memory_order_relaxed);
  }
  return error;
}

int epoll_driver::refresh(io_source& source) noexcept {
  return control(EPOLL_CTL_MOD, source);
}

void epoll_driver::remove(io_source& source) noexcept {
  if (source.driver.load(std::memory_order_relaxed) == id_)
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, source.descriptor, nullptr);
  forget(source);
}

void epoll_driver::forget(io_source& source) noexcept {
  if (source.driver.load(std::memory_order_relaxed) != id_)
    return;
  --watched_;
  source.driver.store(0, std::memory_order_relaxed);
}

std::unique_ptr<driver> make_driver(sennit_worker&) {
  return std::make_unique<epoll_driver>();
}

}  // namespace sennit::detail
