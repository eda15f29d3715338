// What workers and I/O ask of a driver, and what they do with its answers: by a driver that the test scripts.
#include "sennit/detail/sched/driver.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "sennit/readiness.hpp"
#include "sennit/tcp_stream.hpp"
#include "support.hpp"
#include "support/any_runtime.hpp"
#include "support/fake_driver.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using detail::io_source;
using steady = std::chrono::steady_clock;

struct two_ends {
  int ends[2];
  two_ends() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0); }
  ~two_ends() {
    for (const int each : ends)
      ::close(each);
  }
};

// With 0, 1 and 2 workers; 0 is a local runtime.
class Drivers : public testing::TestWithParam<unsigned>, protected support::any_runtime {
protected:
  Drivers() : any_runtime{GetParam()} {}

  // In a fiber: lets others run until that holds.
  template <class Condition>
  void until(Condition condition) const {
    const auto late = steady::now() + 30s;
    while (!condition() && steady::now() < late)
      sleep();
    ASSERT_TRUE(condition());
  }
  void rest() const {
    for (int i = 0; i < 5; ++i)
      sleep();
  }

  support::fake_drivers fake;
  two_ends pair;
};
INSTANTIATE_TEST_SUITE_P(Runtimes, Drivers, testing::Values(0u, 1u, 2u), support::runtime_name);

TEST_P(Drivers, EachWorkerGetsOneOfTheFactory) {
  run([] {});
  EXPECT_EQ(fake.made(), std::max(workers, 1u));
}

TEST_P(Drivers, AnEventWakesTheFiberThatWaitsForIt) {
  std::atomic<bool> woken = false;
  run([&] {
    readiness ready(pair.ends[0]);
    spawn_detached([&] {
      ready.wait_readable();
      woken = true;
    });
    until([&] { return fake.watches(pair.ends[0]); });
    rest();
    EXPECT_FALSE(woken);
    EXPECT_TRUE(fake.event(pair.ends[0], &io_source::writing));
    rest();
    EXPECT_FALSE(woken) << "by an event of the other side";
    EXPECT_TRUE(fake.event(pair.ends[0], &io_source::reading));
    until([&] { return woken.load(); });
  });
}

TEST_P(Drivers, AnEventOfASourceLeavesTheOthersWaiting) {
  two_ends another;
  std::atomic<int> woken = 0;
  run([&] {
    readiness first(pair.ends[0]);
    readiness second(another.ends[0]);
    for (readiness* each : {&first, &second})
      spawn_detached([&woken, each] {
        each->wait_writable();
        ++woken;
      });
    until([&] { return fake.watched() == 2; });
    rest();
    fake.event(another.ends[0], &io_source::writing);
    until([&] { return woken == 1; });
    rest();
    EXPECT_EQ(woken, 1);
    fake.event(pair.ends[0], &io_source::writing);
    until([&] { return woken == 2; });
  });
}

TEST_P(Drivers, AWatchThatFailsGivesItsError) {
  run([&] {
    for (const int refused : {ENOSPC, ENOMEM}) {
      readiness ready(pair.ends[0]);
      std::error_code error;
      fake.refuse_next(refused);
      ready.wait_readable(error);
      EXPECT_EQ(error, std::error_code(refused, std::generic_category()));
      fake.refuse_next(refused);
      EXPECT_THROW(ready.wait_writable(), std::system_error);
    }
    EXPECT_EQ(fake.registrations(), 0u);
  });
}

TEST_P(Drivers, AFileThatCannotBeWatchedIsReady) {
  run([&] {
    readiness ready(pair.ends[0]);
    std::error_code error;
    fake.refuse_next(EPERM);
    ready.wait_readable(error, steady::now() + 30s);
    EXPECT_FALSE(error) << error.message();
    EXPECT_EQ(fake.registrations(), 0u);
  });
}

TEST_P(Drivers, AfterAWatchThatFailedNothingIsLost) {
  run([&] {
    tcp_stream stream = tcp_stream::adopt(::dup(pair.ends[0]));
    const int number = stream.native_handle();
    char got[4];
    std::error_code error;
    fake.refuse_next(ENOSPC);
    EXPECT_EQ(stream.read_some(got, error), 0u);
    EXPECT_EQ(error, std::errc::no_space_on_device);
    std::atomic<std::size_t> size = 0;
    spawn_detached([&] { size = stream.read_some(got); });
    until([&] { return fake.watches(number); });
    EXPECT_EQ(::write(pair.ends[1], "kept", 4), 4);
    EXPECT_TRUE(fake.event(number, &io_source::reading));
    until([&] { return size != 0; });
    EXPECT_EQ(std::string_view(got, size), "kept");
  });
  EXPECT_EQ(fake.registrations(), fake.unwatches());
}

// A registration outlives the wait, so that a second wait costs no system call.
TEST_P(Drivers, AStreamIsWatchedOnceForManyWaits) {
  run([&] {
    tcp_stream stream = tcp_stream::adopt(::dup(pair.ends[0]));
    std::atomic<int> read = 0;
    spawn_detached([&] {
      for (char got[1]; read < 3; ++read)
        stream.read_some(got);
    });
    until([&] { return fake.watches(stream.native_handle()); });
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(::write(pair.ends[1], "x", 1), 1);
      fake.event(stream.native_handle(), &io_source::reading);
      until([&] { return read > i; });
    }
    EXPECT_EQ(fake.registrations(), 1u);
  });
}

// Nothing but the post's wake can end that wait: the runtime has no deadline and no event.
template <class Runtime>
void post_to_one_that_sleeps(support::fake_drivers& fake, Runtime& rt, int descriptor) {
  const auto sleeps = [&] { return fake.asleep() == fake.made() && fake.watched() == 1; };
  std::promise<unsigned> posted;
  std::thread poster([&] {
    while (!sleeps())
      std::this_thread::yield();
    const unsigned before = fake.wakes();
    rt.post([&fake, &posted, before, descriptor] {
      posted.set_value(fake.wakes() - before);
      fake.event(descriptor, &io_source::reading);
    });
  });
  rt.run([&] { readiness(descriptor).wait_readable(); });
  poster.join();
  EXPECT_GE(posted.get_future().get(), 1u);
}

TEST_P(Drivers, AWakeEndsAWait) {
  if (workers == 0) {
    local::runtime rt;
    post_to_one_that_sleeps(fake, rt, pair.ends[0]);
  } else {
    runtime rt({.workers = workers});
    post_to_one_that_sleeps(fake, rt, pair.ends[0]);
  }
}

TEST_P(Drivers, TheWaitHasTheDeadlineOfTheFiber) {
  steady::time_point deadline;
  run([&] {
    readiness ready(pair.ends[0]);
    std::error_code error;
    deadline = steady::now() + 50ms;
    ready.wait_readable(error, deadline);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_GE(steady::now(), deadline);
  });
  const auto all = fake.deadlines();
  EXPECT_TRUE(std::ranges::any_of(all, [&](auto each) { return each >= deadline && each < deadline + 5ms; }))
      << all.size() << " waits";
}

TEST_P(Drivers, AFiberThatIsKilledWhileItWaitsUnwatches) {
  std::atomic<int> unwound = 0;
  struct witness {
    std::atomic<int>& count;
    ~witness() { ++count; }
  };
  run([&] {
    spawn_detached([&] {
      const witness w{unwound};
      readiness(pair.ends[0]).wait_readable();
      ADD_FAILURE() << "it was woken";
    });
    spawn_detached([&] {
      const witness w{unwound};
      tcp_stream stream = tcp_stream::adopt(::dup(pair.ends[1]));
      char got[1];
      stream.read_some(got);
      ADD_FAILURE() << "it was woken";
    });
    until([&] { return fake.watched() == 2; });
    EXPECT_EQ(fake.unwatches(), 0u);
  });
  EXPECT_EQ(unwound, 2);
  EXPECT_EQ(fake.unwatches(), 2u);
  EXPECT_EQ(fake.watched(), 0u);
}

}  // namespace
}  // namespace sennit
