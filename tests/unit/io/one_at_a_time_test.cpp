// One fiber at a time reads from a descriptor and one writes to it. A second one gets an error at once, and
// the first one is not disturbed. What is closed under an operation cancels the whole of it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include "sennit/async_io.hpp"
#include "sennit/become.hpp"
#include "sennit/readiness.hpp"
#include "sennit/select_io.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/stop_guard.hpp"
#include "support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using io_test::error_of;
using io_test::generous;
using io_test::make_connection;
using io_test::steady;

constexpr auto busy = std::errc::device_or_resource_busy;

template <class Kind>
class OneAtATime : public kind_test<Kind> {
protected:
  using fiber = typename Kind::fiber;

  struct reader {
    const char* name;
    std::function<fiber(tcp_stream&, char&)> begin;
  };

  // Fibers that wait to read one byte in each way there is.
  static std::vector<reader> readers() {
    const auto read = [](tcp_stream& s, char& to) { s.read_some(std::span(&to, 1), generous()); };
    const auto each = [](auto function) {
      return [function](tcp_stream& s, char& to) {
        return start<Kind>([function, &s, &to] { return function(s, to); });
      };
    };
    return {
        {"no deadline", each([](tcp_stream& s, char& to) { s.read_some(std::span(&to, 1)); })},
        {"a deadline", each(read)},
        {"a stop guard", each([read](tcp_stream& s, char& to) {
           const std::stop_source stop;
           const stop_guard guard(stop.get_token());
           read(s, to);
         })},
        {"reading", each([read](tcp_stream& s, char& to) {
           return become(s.reading(), [read, &s, &to] { read(s, to); });
         })},
        {"reading_until", each([read](tcp_stream& s, char& to) {
           return become(s.reading_until(generous()), [read, &s, &to](bool) { read(s, to); });
         })},
        {"reading_some", each([](tcp_stream& s, char& to) {
           return become(s.reading_some(std::span(&to, 1)), [](io_result) {});
         })},
        {"reading_some, a deadline", each([](tcp_stream& s, char& to) {
           return become(detail::timed_wait(s.reading_some(std::span(&to, 1)), generous()), [](io_result) {});
         })},
        {"select", each([read](tcp_stream& s, char& to) {
           select(on_readable(s, [&] { read(s, to); }), on_timeout(10min, [] {}));
         })},
        {"selecting", each([read](tcp_stream& s, char& to) {
           return become(
               selecting(on_readable(s, [read, &s, &to] { read(s, to); }), on_timeout(10min, [] {})),
               [](std::size_t) {});
         })},
    };
  }

  // A stream that another fiber waits to read from: each way to read fails at once.
  static void expect_busy(tcp_stream& s) {
    char byte = 0;
    std::error_code error;
    EXPECT_EQ(s.read_some(std::span(&byte, 1), error, generous()), 0u);
    EXPECT_EQ(error, busy);
    EXPECT_EQ(error_of([&] { s.read_some(std::span(&byte, 1)); }), busy);
    io_result got;
    Kind::spawn_here([&] {
      return become(s.reading_some(std::span(&byte, 1)), [&](io_result result) { got = result; });
    }).join();
    EXPECT_EQ(got.error, busy);
    bool called = false;
    Kind::spawn_here([&] { return become(s.reading(), [&] { called = true; }); }).join();
    EXPECT_TRUE(called);
    EXPECT_EQ(select(on_readable(s, [] {}), on_timeout(10min, [] {})), 0u);
    std::atomic<bool> done = false;
    const auto complete = [&](io_result result) {
      got = result;
      done = true;
    };
    got = {};
    EXPECT_TRUE(async_read_some(s, std::span(&byte, 1), [&complete](io_result result) { complete(result); }));
    while (!done)
      Kind::yield();
    EXPECT_EQ(got.error, busy);
  }
};

KIND_TEST(OneAtATime, ASecondReaderGetsAnError) {
  this->run([] {
    for (const auto& first : OneAtATime<Kind>::readers()) {
      SCOPED_TRACE(first.name);
      auto [client, server] = make_connection();
      char byte = 0;
      auto reading = first.begin(server, byte);
      OneAtATime<Kind>::expect_busy(server);
      server.write_all("other direction", generous());
      client.write_all("x", generous());
      reading.join();
      EXPECT_EQ(byte, 'x');
      client.write_all("y", generous());
      server.read_some(std::span(&byte, 1), generous());
      EXPECT_EQ(byte, 'y');
    }
  });
}

KIND_TEST(OneAtATime, ASecondWriterWritesNothing) {
  this->run([] {
    auto [client, server] = make_connection();
    io_test::shrink_buffers(server);
    const std::string all(1 << 20, 'a');
    auto writing = start<Kind>([&, &s = server] {
      s.write_all(all, generous());
      s.shutdown_write();
    });
    std::size_t written = 0;
    std::error_code error;
    char buffer[8192];
    std::string got;
    for (std::size_t size; (size = client.read_some(buffer, generous())) != 0; got.append(buffer, size))
      if (got.size() < all.size() / 2) {
        written += server.write_all("b", error, generous());
        EXPECT_EQ(error, busy);
        EXPECT_EQ(error_of([&, &s = server] { s.write_some("b"); }), busy);
      }
    writing.join();
    EXPECT_EQ(written, 0u);
    EXPECT_EQ(got, all);
  });
}

KIND_TEST(OneAtATime, ASecondWaiterOfOtherDescriptorsGetsAnError) {
  this->run([] {
    std::error_code error;
    tcp_listener listener("127.0.0.1", 0);
    auto accepting = start<Kind>([&] { EXPECT_TRUE(listener.accept(generous()).is_open()); });
    EXPECT_EQ(error_of([&] { listener.accept(); }), busy);
    tcp_stream::connect("127.0.0.1", listener.port(), generous());
    accepting.join();

    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    {
      readiness ready(ends[0]);
      auto waiting = start<Kind>([&] { ready.wait_readable(generous()); });
      EXPECT_EQ(error_of([&] { ready.wait_readable(); }), busy);
      ready.wait_writable(error, steady::time_point::min());
      EXPECT_NE(error, busy);
      EXPECT_EQ(::write(ends[1], "x", 1), 1);
      waiting.join();
    }
    ::close(ends[0]);
    ::close(ends[1]);

    signal_set signals{SIGUSR1};
    auto notified = start<Kind>([&] { EXPECT_EQ(signals.wait(generous()), SIGUSR1); });
    EXPECT_EQ(error_of([&] { signals.wait(); }), busy);
    std::raise(SIGUSR1);
    notified.join();
  });
}

// The writer waits many times, and the stream is closed at any moment, in one of the waits or between two.
KIND_TEST(OneAtATime, CloseCancelsTheWholeOfAWrite) {
  this->run([] {
    const std::string all = io_test::pattern(1 << 20);
    for (int i = 0; i < 12; ++i) {
      auto [client, server] = make_connection();
      if (i % 2 != 0)
        io_test::shrink_buffers(server);
      std::error_code error;
      std::size_t written = 0;
      std::size_t received = 0;
      auto writing = Kind::spawn([&, &s = server] { written = s.write_all(all, error, generous()); });
      char first = 0;
      client.read_some(std::span(&first, 1), generous());  // so it has begun
      auto reading = Kind::spawn([&, &s = client] {
        std::string got(&first, 1);
        std::error_code ends;
        char buffer[4096];
        while (const std::size_t size = s.read_some(buffer, ends, generous()))
          got.append(buffer, size);
        EXPECT_EQ(got, all.substr(0, got.size()));
        received = got.size();
      });
      for (int k = 0; k < i; ++k)
        Kind::yield();
      server.close();
      writing.join();
      reading.join();
      EXPECT_EQ(received, written);
      EXPECT_TRUE(written == all.size() ? !error : error == std::errc::operation_canceled) << error.message();
    }
  });
}

}  // namespace
}  // namespace sennit
