// The epoll driver.
#include "sennit/detail/io/epoll_driver.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace sennit::detail {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), std::string("sennit: ") + what);
}

timespec to_timespec(std::chrono::nanoseconds time) {
  return {static_cast<time_t>(time.count() / 1'000'000'000), static_cast<long>(time.count() % 1'000'000'000)};
}

}  // namespace

epoll_driver::epoll_driver(worker& owner) : owner_(owner) {
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
    errno = error;
    fail("a runtime needs three descriptors (epoll, eventfd, timerfd); raise `ulimit -n`");
  }
}

epoll_driver::~epoll_driver() {
  for (int descriptor : {timer_, event_, epoll_})
    ::close(descriptor);
}

void epoll_driver::wait(time_point deadline) noexcept {
  constexpr int batch = 256;
  epoll_event events[batch];
  timespec limit{};
  const bool for_ever = deadline == never;
  if (!for_ever && deadline != time_point::min()) {
    const auto left = std::max(deadline - clock::now(), clock::duration::zero());
    limit = to_timespec(std::chrono::duration_cast<std::chrono::nanoseconds>(left));
  }
  const int count = ::epoll_pwait2(epoll_, events, batch, for_ever ? nullptr : &limit, nullptr);
  for (int i = 0; i < count; ++i) {
    void* what = events[i].data.ptr;
    if (what == &event_ || what == &timer_) {
      std::uint64_t ignored;
      [[maybe_unused]] auto got = ::read(*static_cast<int*>(what), &ignored, sizeof ignored);
      continue;
    }
    auto& source = *static_cast<io_source*>(what);
    if ((events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
      source.readable = true;
      if (fiber* reader = std::exchange(source.reader, nullptr))
        unpark(owner_, *reader, 0);
    }
    if ((events[i].events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
      source.writable = true;
      if (fiber* writer = std::exchange(source.writer, nullptr))
        unpark(owner_, *writer, 0);
    }
  }
}

void epoll_driver::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] auto put = ::write(event_, &one, sizeof one);
}

void epoll_driver::arm(time_point deadline) noexcept {
  itimerspec when{};
  if (deadline != never) {
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch());
    when.it_value = to_timespec(std::max(since, std::chrono::nanoseconds(1)));
  }
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

void epoll_driver::add(io_source& source) {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.ptr = &source}};
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, source.descriptor, &event) != 0)
    fail("epoll_ctl");
  source.registered = true;
  ++sources_;
}

void epoll_driver::remove(io_source& source) noexcept {
  if (!std::exchange(source.registered, false))
    return;
  --sources_;
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, source.descriptor, nullptr);
}

std::unique_ptr<driver> make_driver(sennit_worker& owner) {
  return std::make_unique<epoll_driver>(owner);
}

}  // namespace sennit::detail
