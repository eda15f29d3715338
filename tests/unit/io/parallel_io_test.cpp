// I/O of fibers on several workers.
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "sennit/offload.hpp"
#include "sennit/readiness.hpp"
#include "sennit/runtime.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/wait_group.hpp"
#include "support.hpp"
#include "support/child.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using io_test::connect_to;
using io_test::connection;
using io_test::echo;
using io_test::generous;
using io_test::make_connection;
using io_test::pattern;
using io_test::read_to_end;
using io_test::shrink_buffers;
using io_test::who_watch;
using support::open_descriptors;
using steady = std::chrono::steady_clock;

class ParallelIo : public testing::TestWithParam<unsigned> {
protected:
  // Runs `count` fibers of one function, and waits for all.
  template <class Function>
  void run_all(int count, Function function) {
    rt.run([&] {
      std::vector<sennit::fiber> all;
      for (int i = 0; i < count; ++i)
        all.push_back(sennit::spawn([&, i] { function(i); }));
      for (sennit::fiber& each : all)
        each.join();
    });
  }
  unsigned workers() const { return GetParam(); }

  sennit::runtime rt{{.workers = GetParam()}};
};

class ParallelIoOnSeveral : public ParallelIo {};

INSTANTIATE_TEST_SUITE_P(Workers, ParallelIo, testing::Values(1u, 2u, 4u));
INSTANTIATE_TEST_SUITE_P(Workers, ParallelIoOnSeveral, testing::Values(2u, 4u));

// As a server spreads them. The workers are hints: where the machine is busy, an idle one may come before the
// one that is meant; but not in every round.
TEST_P(ParallelIoOnSeveral, ConnectionsBeginAtTheWorkersInTurn) {
  constexpr unsigned count = 8;
  tcp_listener listener("127.0.0.1", 0);
  rt.run([&] {
    const auto begin_where_meant = [&] {
      unsigned right = 0;
      for (unsigned number = 0; number < count; ++number) {
        auto client = tcp_stream::connect("127.0.0.1", listener.port(), generous());
        unsigned begun_at = 0;
        auto server = sennit::spawn(
            [&begun_at, stream = listener.accept(generous())]() mutable {
              begun_at = sennit::this_fiber::worker();
              echo(stream);
            },
            {.near = number});
        client.write_all("hello", generous());
        client.shutdown_write();
        EXPECT_EQ(read_to_end(client), "hello");
        server.join();
        right += begun_at == number % workers() ? 1 : 0;
      }
      return right == count;
    };
    const auto end = steady::now() + 30s;
    bool all_right = begin_where_meant();
    while (!all_right && steady::now() < end)
      all_right = begin_where_meant();
    EXPECT_TRUE(all_right);
  });
}

// A reader and a writer of one stream, each on a worker of its own where there are two.
TEST_P(ParallelIo, BothDirectionsAtOnce) {
  const std::string data = pattern(1 << 20);
  run_all(4, [&](int) {
    connection both = make_connection();
    shrink_buffers(both.client);
    shrink_buffers(both.server);
    const auto half = [&](tcp_stream& stream, unsigned on) {
      return sennit::spawn(
          [&stream, &data] {
            stream.write_all(data, generous());
            stream.shutdown_write();
          },
          {.pinned = on % workers()});
    };
    auto first = half(both.client, 0);
    auto second = half(both.server, 1);
    auto reader = sennit::spawn([&] { EXPECT_TRUE(read_to_end(both.server) == data); });
    EXPECT_TRUE(read_to_end(both.client) == data);
    reader.join();
    first.join();
    second.join();
  });
}

// Deadlines that pass when the data comes: nothing is lost, nothing is there twice.
TEST_P(ParallelIo, DeadlinesRaceWithData) {
  run_all(8, [&](int me) {
    connection both = make_connection();
    constexpr int bytes = 200;
    auto writer = sennit::spawn([&] {
      for (int i = 0; i < bytes; ++i) {
        both.client.write_all("x", generous());
        sennit::this_fiber::sleep_for(std::chrono::microseconds(50 + 10 * me));
      }
      both.client.shutdown_write();
    });
    int got = 0;
    for (;;) {
      char one[1];
      std::error_code error;
      const std::size_t size = both.server.read_some(one, error, steady::now() + 60us);
      if (error == std::errc::timed_out)
        continue;
      ASSERT_FALSE(error) << error.message();
      if (size == 0)
        break;
      ++got;
    }
    EXPECT_EQ(got, bytes);
    writer.join();
  });
}

// Whoever closes, whenever: the other one learns of it, and never reads from who has the number next.
TEST_P(ParallelIo, CloseRacesWithReads) {
  const auto before = open_descriptors();
  std::atomic<int> wrong{0};
  run_all(6, [&](int me) {
    for (int i = 0; i < 60; ++i) {
      connection both = make_connection();
      const char mine = static_cast<char>('a' + me);
      sennit::wait_group begun(1);
      auto reader = sennit::spawn([&] {
        begun.done();
        char got[16];
        std::error_code error;
        do {
          const std::size_t size = both.server.read_some(got, error, generous());
          for (std::size_t k = 0; k < size; ++k)
            wrong += got[k] != mine;
        } while (!error);
        EXPECT_EQ(error, std::errc::operation_canceled);
      });
      begun.wait();
      for (int k = 0; k < i % 4; ++k)
        both.client.write_all(std::string(4, mine));
      both.server.close();
      EXPECT_FALSE(both.server.is_open());
      EXPECT_EQ(both.server.native_handle(), -1);
      reader.join();
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(ParallelIo, AListenerIsClosedWhileItAccepts) {
  run_all(8, [&](int) {
    tcp_listener listener("127.0.0.1", 0);
    const std::uint16_t port = listener.port();
    auto acceptor = sennit::spawn([&] {
      std::error_code error;
      int accepted = 0;
      while (listener.accept(error, generous()).is_open())
        ++accepted;
      EXPECT_EQ(error, std::errc::operation_canceled);
      return accepted;
    });
    for (int i = 0; i < 5; ++i)
      tcp_stream::connect("127.0.0.1", port, generous());
    listener.close();
    acceptor.join();
    EXPECT_EQ(listener.port(), 0);
  });
}

TEST_P(ParallelIoOnSeveral, EventsFollowTheFibersThatMoved) {
  rt.run([&] {
    connection both = make_connection();
    const auto read_on = [&](unsigned worker, int times) {
      sennit::spawn(
          [&] {
            for (int i = 0; i < times; ++i) {
              char one[1];
              std::error_code error;
              both.server.read_some(one, error, steady::now() + 1ms);
              EXPECT_EQ(error, std::errc::timed_out);
            }
          },
          {.pinned = worker})
          .join();
    };
    read_on(0, 1);
    const auto first = who_watch(both.server.native_handle());
    ASSERT_EQ(first.size(), 1u);
    read_on(0, 10);
    EXPECT_EQ(who_watch(both.server.native_handle()), first);
    read_on(1, 1);
    EXPECT_EQ(who_watch(both.server.native_handle()), first);
    read_on(1, 10);
    const auto then = who_watch(both.server.native_handle());
    ASSERT_EQ(then.size(), 1u);
    EXPECT_NE(then, first);
    // And they come.
    auto reader = sennit::spawn(
        [&] {
          char one[1];
          EXPECT_EQ(both.server.read_some(one, generous()), 1u);
        },
        {.pinned = 1});
    both.client.write_all("x");
    reader.join();
  });
}

// A worker that is stuck in a fiber has its events served by others.
TEST_P(ParallelIoOnSeveral, OthersServeTheEventsOfAStuckWorker) {
  rt.run([&] {
    connection both = make_connection();
    std::binary_semaphore over(0);
    std::atomic<bool> stuck{false};
    // Both directions wait on worker 0 first, so that the events come there.
    sennit::spawn(
        [&] {
          char one[1];
          std::error_code error;
          both.server.read_some(one, error, steady::now() + 1ms);
        },
        {.pinned = 0})
        .join();
    auto reader = sennit::spawn([&] {
      char one[1];
      EXPECT_EQ(both.server.read_some(one, generous()), 1u);
    });
    sennit::this_fiber::sleep_for(2ms);  // it waits, whether on worker 0 or not
    auto holder = sennit::spawn(
        [&] {
          stuck = true;
          over.acquire();  // blocks the thread
        },
        {.pinned = 0});
    std::thread outside([&] {
      while (!stuck)
        std::this_thread::yield();
      ::send(both.client.native_handle(), "x", 1, MSG_NOSIGNAL);
    });
    sennit::spawn([&] { reader.join(); }, {.pinned = 1}).join();
    over.release();
    holder.join();
    outside.join();
  });
}

TEST_P(ParallelIo, ReadinessOfOthersDescriptors) {
  run_all(8, [](int) {
    const int event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    {
      readiness ready(event);
      auto writer = sennit::spawn([&] {
        for (int i = 0; i < 20; ++i) {
          sennit::this_fiber::yield();
          const std::uint64_t one = 1;
          EXPECT_EQ(::write(event, &one, sizeof one), static_cast<ssize_t>(sizeof one));
        }
      });
      for (std::uint64_t sum = 0; sum < 20;) {
        ready.wait_readable(generous());
        std::uint64_t count = 0;
        if (::read(event, &count, sizeof count) > 0)
          sum += count;
      }
      writer.join();
      ready.wait_writable(generous());
    }
    EXPECT_TRUE(who_watch(event).empty());
    ::close(event);
  });
}

// Every way of waiting when the runtime ends.
TEST(ParallelIoEnd, WhoWaitsLeaves) {
  const auto before = open_descriptors();
  std::atomic<int> left{0};
  struct witness {
    std::atomic<int>& count;
    ~witness() { ++count; }
  };
  for (unsigned workers : {1u, 2u, 4u}) {
    left = 0;
    std::atomic<bool> calls{false}, called{false};
    {
      sennit::runtime rt({.workers = workers});
      rt.run([&] {
        sennit::wait_group begun(5);
        const auto start = [&](auto wait) {
          sennit::spawn([&left, &begun, wait] {
            const witness w{left};
            begun.done();
            wait();
          }).detach();
        };
        start([] {
          connection both = make_connection();
          char one[1];
          both.server.read_some(one);
        });
        start([] {
          connection both = make_connection();
          char one[1];
          both.server.read_some(one, generous());
        });
        start([] { tcp_listener("127.0.0.1", 0).accept(); });
        start([] { signal_set{SIGUSR2}.wait(); });
        start([&calls, &called] {
          offload([&calls, &called] {
            calls = true;
            std::this_thread::sleep_for(20ms);
            called = true;
          });
        });
        begun.wait();
        while (!calls)
          sennit::this_fiber::sleep_for(5ms);
      });
    }
    EXPECT_EQ(left, 5);
    EXPECT_TRUE(called);  // it had begun, so it was waited for
  }
  EXPECT_EQ(open_descriptors(), before);
}

// A fiber may still wait while its runtime ends: a last message, in a destructor.
TEST(ParallelIoEnd, ALastWordIsWritten) {
  connection both;
  {
    sennit::runtime rt({.workers = 2});
    rt.run([&] { both = make_connection(); });
    rt.spawn([&] {
        struct last_word {
          tcp_stream& to;
          ~last_word() {
            std::error_code error;
            to.write_all("bye", error, generous());
            to.close();
          }
        } const word{both.server};
        char one[1];
        both.server.read_some(one);
      }).detach();
    std::this_thread::sleep_for(5ms);
  }
  sennit::local::runtime after;
  after.run([&] { EXPECT_EQ(read_to_end(both.client), "bye"); });
}

}  // namespace
}  // namespace sennit
