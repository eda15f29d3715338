// Several objects watch one file descriptor: a stream that has waited and a readiness, or readiness objects.
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <memory>

#include "sennit/become.hpp"
#include "sennit/readiness.hpp"
#include "sennit/select_io.hpp"
#include "support.hpp"
#include "support/child.hpp"

namespace {

using namespace io_test;
using sennit::readiness;

// A stream that its runtime watches.
connection make_watched_connection() {
  connection both = make_connection();
  char byte;
  std::error_code error;
  both.server.read_some(std::span(&byte, 1), error, steady::now() + 1ms);
  EXPECT_EQ(error, std::errc::timed_out);
  return both;
}

void receive_one(int descriptor, char expected) {
  char byte = 0;
  EXPECT_EQ(::recv(descriptor, &byte, 1, MSG_DONTWAIT), 1);
  EXPECT_EQ(byte, expected);
}

template <class Kind>
class SharedDescriptor : public kind_test<Kind> {};

KIND_TEST(SharedDescriptor, AReadinessWaitsForAStreamThatHasWaited) {
  this->run([] {
    auto [client, server] = make_watched_connection();
    const std::size_t before = open_descriptors();
    const int descriptor = server.native_handle();
    {
      readiness ready(descriptor);
      for (const char byte : {'a', 'b', 'c'}) {
        auto writer = start<Kind>([&, to = &client] { to->write_all({&byte, 1}, generous()); });
        ready.wait_readable(generous());
        receive_one(descriptor, byte);
        writer.join();
      }
      ready.wait_writable(generous());
      EXPECT_EQ(ready.native_handle(), descriptor);
    }
    EXPECT_EQ(open_descriptors(), before);
    // The stream is watched as before.
    auto writer = start<Kind>([to = &client] {
      Kind::yield();
      to->write_all("d", generous());
    });
    char byte;
    EXPECT_EQ(server.read_some(std::span(&byte, 1), generous()), 1u);
    writer.join();
  });
}

KIND_TEST(SharedDescriptor, AnEventWakesTheStreamAndEveryReadiness) {
  this->run([] {
    auto [client, server] = make_watched_connection();
    const int descriptor = server.native_handle();
    readiness first(descriptor), second(descriptor), third(descriptor), fourth(descriptor);
    std::atomic<int> woken{0};
    std::array waits{Kind::spawn([&] {
                       first.wait_readable(generous());
                       ++woken;
                     }),
                     Kind::spawn([&] { return sennit::become(second.reading(), [&woken] { ++woken; }); }),
                     Kind::spawn([&] {
                       return sennit::become(third.reading_until(generous()),
                                             [&woken](bool in_time) { woken += in_time; });
                     }),
                     Kind::spawn([&] { sennit::select(sennit::on_readable(fourth, [&] { ++woken; })); })};
    auto reads = Kind::spawn([&from = server] { sennit::select(sennit::on_readable(from, [] {})); });
    sennit::until_stackless<Kind>(2);
    client.write_all("x", generous());
    reads.join();
    for (auto& each : waits)
      each.join();
    EXPECT_EQ(woken, 4);
    receive_one(descriptor, 'x');
  });
}

KIND_TEST(SharedDescriptor, TheStreamMayEndFirst) {
  this->run([] {
    auto [client, server] = make_watched_connection();
    readiness ready(server.native_handle());
    ready.wait_writable(generous());
    auto waits = start<Kind>([&] { ready.wait_readable(generous()); });
    const int released = server.release();
    client.write_all("x", generous());
    waits.join();
    receive_one(released, 'x');
    ::close(released);
  });
}

TEST(SharedDescriptorOfAChild, AReadinessNeedsADescriptorForItsDuplicate) {
  const auto result = support::in_child([] {
    sennit::local::runtime runtime({.report_deadlock = false});
    runtime.run([] {
      auto [client, server] = make_watched_connection();
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      const rlim_t kept = std::exchange(limit.rlim_cur, 1);
      setrlimit(RLIMIT_NOFILE, &limit);
      readiness ready(server.native_handle());
      std::error_code error;
      ready.wait_writable(error, generous());
      limit.rlim_cur = kept;
      setrlimit(RLIMIT_NOFILE, &limit);
      if (error != std::errc::too_many_files_open)
        _exit(1);
      ready.wait_writable(generous());
    });
    _exit(0);
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

// A source follows its fibers to their worker. There another object may watch the descriptor already.
TEST(SharedDescriptorOfWorkers, NoObjectTakesTheEventsOfAnother) {
  sennit::runtime runtime({.workers = 2});
  runtime.run([] {
    for (const unsigned first : {0u, 1u}) {
      connection both = make_connection();
      tcp_stream& client = both.client;
      tcp_stream& server = both.server;
      readiness ready(server.native_handle());
      const auto on = [](unsigned worker, auto function) {
        sennit::spawn(std::move(function), {.pinned = worker}).join();
      };
      const auto stream_waits = [&](steady::time_point until) {
        char byte;
        std::error_code error;
        server.read_some(std::span(&byte, 1), error, until);
        return error ? '-' : byte;
      };
      const auto times_out = [&] {
        for (int i = 0; i < 10; ++i) {
          EXPECT_EQ(stream_waits(steady::now() + 1us), '-');
          std::error_code error;
          ready.wait_readable(error, steady::now() + 1us);
          EXPECT_EQ(error, std::errc::timed_out);
        }
      };
      // Each is watched on a worker of its own. Then both fibers are on one, then on the other.
      on(first, [&] { stream_waits(steady::now() + 1us); });
      on(1 - first, [&] {
        std::error_code error;
        ready.wait_readable(error, steady::now() + 1us);
      });
      for (const unsigned worker : {0u, 1u, 0u}) {
        on(worker, times_out);
        const auto stream_is_readable = [&] { sennit::select(sennit::on_readable(server, [] {})); };
        auto reader = sennit::spawn(stream_is_readable, {.pinned = worker});
        auto watcher = sennit::spawn([&] { ready.wait_readable(generous()); }, {.pinned = worker});
        on(1 - worker, [&] { client.write_all("x", generous()); });
        watcher.join();
        reader.join();
        EXPECT_EQ(stream_waits(generous()), 'x');
      }
    }
  });
}

}  // namespace
