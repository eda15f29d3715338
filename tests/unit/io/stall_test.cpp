// Other fibers' actions in the middle of an operation: its system call is held there, until the test releases
// it.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <string_view>
#include <thread>

#include "sennit/detail/io/socket.hpp"
#include "sennit/readiness.hpp"
#include "sennit/runtime.hpp"
#include "support.hpp"

namespace {

// The first such call after it was made.
class stalled_call {
public:
  stalled_call(std::string_view call, int descriptor) : call_(call), descriptor_(descriptor) { now = this; }
  ~stalled_call() { now = nullptr; }
  stalled_call(const stalled_call&) = delete;
  stalled_call& operator=(const stalled_call&) = delete;

  bool reached() const { return reached_; }
  void wait_until_reached() const {
    while (!reached_)
      sennit::this_fiber::yield();
  }
  void let_go() { over_ = true; }

  // What the calls below do.
  static void here(std::string_view call, int descriptor) {
    stalled_call* const it = now;
    if (it == nullptr || it->call_ != call || it->descriptor_ != descriptor || it->reached_.exchange(true))
      return;
    const int kept = errno;
    while (!it->over_)
      std::this_thread::yield();
    errno = kept;
  }

private:
  static inline std::atomic<stalled_call*> now{nullptr};
  const std::string_view call_;
  const int descriptor_;
  std::atomic<bool> reached_{false};
  std::atomic<bool> over_{false};
};

}  // namespace

// In the place of the C library's.
extern "C" {

ssize_t recv(int descriptor, void* to, size_t size, int flags) {
  const ssize_t result = ::recvfrom(descriptor, to, size, flags, nullptr, nullptr);
  stalled_call::here("recv", descriptor);
  return result;
}

int shutdown(int descriptor, int how) noexcept {
  stalled_call::here("shutdown", descriptor);
  return static_cast<int>(::syscall(SYS_shutdown, descriptor, how));
}

int epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) noexcept {
  stalled_call::here("epoll_ctl", descriptor);
  return static_cast<int>(::syscall(SYS_epoll_ctl, epoll, operation, descriptor, event));
}

}  // extern "C"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using io_test::connection;
using io_test::generous;
using io_test::make_connection;
using io_test::who_watch;
using steady = std::chrono::steady_clock;

tcp_stream one_end(int& other) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  other = ends[1];
  return tcp_stream::adopt(ends[0]);
}

// A reader that has found nothing begins to wait when its stream was closed. The next owner of its source
// must still get events.
TEST(StalledCall, ClosedBetweenAnAttemptAndItsWait) {
  sennit::runtime rt({.workers = 2});
  rt.run([&] {
    int other = -1;
    tcp_stream stream = one_end(other);
    stalled_call attempt("recv", stream.native_handle());
    auto reader = spawn(
        [&] {
          char one[1];
          std::error_code error;
          stream.read_some(one, error, generous());
          EXPECT_EQ(error, std::errc::operation_canceled);
        },
        {.pinned = 0});
    spawn(
        [&] {
          attempt.wait_until_reached();
          stream.close();
          attempt.let_go();
        },
        {.pinned = 1})
        .join();
    reader.join();
    ::close(other);
    stream = tcp_stream();  // gives the source back, to be the next
    tcp_stream next = one_end(other);
    spawn(
        [&] {
          char one[1];
          std::error_code error;
          next.read_some(one, error, steady::now() + 1ms);
          EXPECT_EQ(error, std::errc::timed_out);
          EXPECT_EQ(who_watch(next.native_handle()).size(), 1u);
        },
        {.pinned = 0})
        .join();
    ::close(other);
  });
}

// The number is not another's before the call has returned.
TEST(StalledCall, ClosedWhileItIsShutDown) {
  sennit::runtime rt({.workers = 2});
  rt.run([&] {
    int other = -1;
    tcp_stream stream = one_end(other);
    const int number = stream.native_handle();
    stalled_call call("shutdown", number);
    auto one = spawn(
        [&] {
          std::error_code error;
          stream.shutdown_write(error);
          EXPECT_FALSE(error) << error.message();
        },
        {.pinned = 0});
    spawn(
        [&] {
          call.wait_until_reached();
          stream.close();
          EXPECT_GE(::fcntl(number, F_GETFD), 0);
          call.let_go();
        },
        {.pinned = 1})
        .join();
    one.join();
    EXPECT_LT(::fcntl(number, F_GETFD), 0);
    ::close(other);
  });
}

// Both directions of a file descriptor, the first time.
TEST(StalledCall, RegisteredByTwoAtOnce) {
  const int event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  {
    sennit::runtime rt({.workers = 2});
    std::atomic<bool> second_begins{false};
    stalled_call call("epoll_ctl", event);
    std::thread outside([&] {
      while (!second_begins)
        std::this_thread::yield();
      std::this_thread::sleep_for(10ms);
      call.let_go();
    });
    rt.run([&] {
      readiness ready(event);
      auto writer = spawn(
          [&] {
            std::error_code error;
            ready.wait_writable(error, generous());
            EXPECT_FALSE(error) << error.message();
          },
          {.pinned = 0});
      spawn(
          [&] {
            call.wait_until_reached();
            second_begins = true;
            std::error_code error;
            ready.wait_readable(error, steady::now() + 30ms);
            EXPECT_EQ(error, std::errc::timed_out);
          },
          {.pinned = 1})
          .join();
      writer.join();
      EXPECT_EQ(who_watch(event).size(), 1u);
    });
    outside.join();
  }
  ::close(event);
}

// An event that came between a fiber's being told to leave and its leaving is not lost to its last words.
TEST(Source, AnEventAtTheEndIsNotLost) {
  int other = -1;
  tcp_stream stream = one_end(other);
  std::size_t got = 0;
  bool waits = false;
  {
    local::runtime rt;
    rt.run([&] {
      local::spawn([&] {
        struct last_word {
          tcp_stream& from;
          std::size_t& size;
          ~last_word() {
            char one[1];
            std::error_code error;
            size = from.read_some(one, error, generous());
          }
        } const word{stream, got};
        char one[1];
        std::error_code error;
        stream.read_some(one, error, steady::now() + 1ms);
        EXPECT_EQ(error, std::errc::timed_out);
        waits = true;
        stream.read_some(one);
      }).detach();
      while (!waits)
        local::this_fiber::sleep_for(1ms);
    });
    EXPECT_EQ(::send(other, "x", 1, MSG_NOSIGNAL), 1);
  }
  EXPECT_EQ(got, 1u);
  ::close(other);
}

// A worker's event comes late: the source has been given back, and a fiber of a local runtime waits there
// now.
TEST(Source, AFormerDriversEventLeavesALocalFiberAlone) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  detail::owned_source source(ends[0]);
  sennit::runtime elsewhere({.workers = 1});
  local::runtime rt;
  rt.run([&] {
    auto reader = local::spawn([&] {
      char one[1];
      EXPECT_EQ(detail::socket_read(source.get(), one, 1, generous()), 1);
    });
    local::this_fiber::yield();
    const std::uintptr_t waits = source.get()->reading.word;
    EXPECT_EQ(waits % 2, 0u);
    elsewhere.run([&] { detail::source_notify(source.get()->reading, true); });
    EXPECT_EQ(source.get()->reading.word, waits);
    EXPECT_EQ(::send(ends[1], "x", 1, MSG_NOSIGNAL), 1);
    reader.join();
  });
  ::close(ends[1]);
}

}  // namespace
}  // namespace sennit
