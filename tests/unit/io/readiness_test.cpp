#include "sennit/readiness.hpp"

#include <fcntl.h>
#include <poll.h>

#include <new>
#include <optional>
#include <vector>

#include "support.hpp"
#include "support/child.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace io_test;
using sennit::readiness;

template <class Kind>
class Readiness : public kind_test<Kind> {};

struct pipe_ends {
  int reading = -1;
  int writing = -1;

  pipe_ends() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    reading = ends[0];
    writing = ends[1];
  }
  ~pipe_ends() {
    ::close(reading);
    ::close(writing);
  }
};

KIND_TEST(Readiness, WaitsUntilReadable) {
  pipe_ends pipe;
  this->run([&] {
    readiness ready(pipe.reading);
    std::error_code error;
    ready.wait_readable(error, steady::now() + 5ms);
    EXPECT_EQ(error, std::errc::timed_out);
    auto waiter = Kind::spawn([&] { ready.wait_readable(generous()); });
    Kind::yield();  // it waits now, unless another worker is to run it
    ASSERT_EQ(::write(pipe.writing, "ab", 2), 2);
    waiter.join();
    char one;
    ASSERT_EQ(::read(pipe.reading, &one, 1), 1);
    ready.wait_readable(generous());  // what the last event told of is not used up
    ASSERT_EQ(::read(pipe.reading, &one, 1), 1);
    EXPECT_EQ(error_of([&] { ready.wait_readable(steady::now() + 5ms); }), std::errc::timed_out);
  });
}

// For another event loop.
TEST(ReadinessOfAHost, ALocalRuntimesDescriptorPollsReadableForEvents) {
  pipe_ends pipe;
  sennit::local::runtime rt;
  bool read = false;
  rt.spawn([&] {
      readiness(pipe.reading).wait_readable(generous());
      read = true;
    }).detach();
  while (rt.run_once()) {
  }
  pollfd watch{rt.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&watch, 1, 0), 0);
  ASSERT_EQ(::write(pipe.writing, "a", 1), 1);
  EXPECT_EQ(::poll(&watch, 1, 10'000), 1);
  while (!read)
    rt.run_once(generous());
}

KIND_TEST(Readiness, WaitsUntilWritable) {
  pipe_ends pipe;
  this->run([&] {
    readiness ready(pipe.writing);
    ready.wait_writable(generous());
    const std::string block(4096, 'x');
    while (::write(pipe.writing, block.data(), block.size()) > 0) {
    }
    EXPECT_EQ(error_of([&] { ready.wait_writable(steady::now() + 5ms); }), std::errc::timed_out);
    auto waiter = Kind::spawn([&] { ready.wait_writable(generous()); });
    Kind::yield();
    static char drain[65536];
    while (::read(pipe.reading, drain, sizeof drain) > 0) {
    }
    waiter.join();
    EXPECT_GT(::write(pipe.writing, "x", 1), 0);
  });
}

KIND_TEST(Readiness, TheDescriptorMayBeWatchedAgain) {
  pipe_ends pipe;
  for (int i = 0; i < 3; ++i) {
    Kind rt;
    rt.run([&] {
      for (int round = 0; round < 3; ++round) {
        readiness ready(pipe.writing);
        ready.wait_writable(generous());
      }
    });
  }
}

KIND_TEST(Readiness, AFileIsAlwaysReady) {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  this->run([&] {
    readiness ready(file);
    ready.wait_readable();
    ready.wait_writable();
  });
  ::close(file);
}

// Memory ends in a constructor.
TEST(Readiness, LeavesTheDescriptorOpenWhenMemoryEnds) {
#if defined(SUPPORT_ASAN) || defined(SUPPORT_TSAN)
  GTEST_SKIP() << "sanitizers do not live without memory";
#endif
  const auto result = support::in_child([] {
    pipe_ends pipe;
    std::vector<std::optional<readiness>> many(100'000);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_AS, &none);
    try {
      for (auto& each : many)
        each.emplace(pipe.reading);
    } catch (const std::bad_alloc&) {
      _exit(::fcntl(pipe.reading, F_GETFD) < 0);
    }
    _exit(77);
  });
  if (result.exited(77))
    GTEST_SKIP() << "RLIMIT_AS does not end the memory: an emulator, or other threads' arenas";
  EXPECT_TRUE(result.exited(0)) << result;
}

TEST(Readiness, IsForFibers) {
  const pipe_ends pipe;
  const auto result = support::in_child([&] { readiness(pipe.reading).wait_readable(); });
  EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
  EXPECT_TRUE(result.says("readiness: there is no fiber here")) << result;
}

KIND_TEST(Readiness, RefusesWhatIsNoDescriptor) {
  this->run(
      [] { EXPECT_EQ(error_of([] { readiness(-1).wait_readable(); }), std::errc::bad_file_descriptor); });
}

}  // namespace
