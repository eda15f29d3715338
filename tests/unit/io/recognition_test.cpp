// The driver makes the transfer of a fiber that waits for it without a stack, where it can.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/select_io.hpp"
#include "support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using io_test::generous;
using io_test::make_connection;
using namespace std::chrono_literals;

template <class Kind>
class IoRecognition : public kind_test<Kind> {};

// A fiber that waits to read, and the data that it has read when it resumes.
template <class Kind>
struct one_read {
  char buffer[64] = {};
  std::atomic<int> turns = 0;
  io_result result;
  typename Kind::fiber fiber;

  void begin(const tcp_stream& stream) {
    fiber = Kind::spawn_here([this, &stream] {
      return become(stream.reading_some(buffer), [this](io_result got) {
        result = got;
        ++turns;
      });
    });
  }
  std::string_view text() const { return {buffer, result.size}; }
};

// What an event is to a driver.
void tell_reader(const tcp_stream& stream) {
  detail::source_notify(detail::source_access::of(stream)->reading, detail::io_may_be_shared());
}

// An event brings "hello", though the fiber does not run. It can be seen if no other worker serves the driver
// of the busy worker.
template <class Kind>
void expect_read_ahead(const tcp_stream& stream, const char* buffer, const std::atomic<int>& turns) {
  if (Kind::threads(1) > 0)
    return;
  for (int i = 0; std::string_view(buffer) != "hello" && i < 1'000'000; ++i)
    tell_reader(stream);
  EXPECT_STREQ(buffer, "hello");
  EXPECT_EQ(turns, 0);
}

KIND_TEST(IoRecognition, ADriverReadsForWhoWaits) {
  this->run([] {
    auto [client, server] = make_connection();
    one_read<Kind> read;
    read.begin(server);
    until_stackless<Kind>(1);
    client.write_all("hello", generous());
    expect_read_ahead<Kind>(server, read.buffer, read.turns);
    read.fiber.join();
    EXPECT_EQ(read.text(), "hello");
    EXPECT_FALSE(read.result.error);
  });
}

KIND_TEST(IoRecognition, AnEventThatBringsNothingWakesNobodyWhoReads) {
  this->run([] {
    auto [client, server] = make_connection();
    one_read<Kind> read;
    read.begin(server);
    until_stackless<Kind>(1);
    for (int i = 0; i < 10; ++i) {
      tell_reader(server);
      EXPECT_EQ(stackless(), 1u);
    }
    client.write_all("x", generous());
    read.fiber.join();
    EXPECT_EQ(read.text(), "x");
    EXPECT_EQ(read.turns, 1);
  });
}

// A fiber that only waits until it can read is woken by any event, and reads for itself.
KIND_TEST(IoRecognition, AnEventWakesWhoWaitsUntilItCanRead) {
  this->run([] {
    auto [client, server] = make_connection();
    auto reader = Kind::spawn_here([&stream = server] { return become(stream.reading(), [] {}); });
    until_stackless<Kind>(1);
    tell_reader(server);
    EXPECT_EQ(stackless(), 0u);
    reader.join();
  });
}

// What is there when the wait begins it reads for itself, too.
KIND_TEST(IoRecognition, AFiberReadsWhatHasCome) {
  this->run([] {
    auto [client, server] = make_connection();
    client.write_all("early", generous());
    one_read<Kind> read;
    read.begin(server);
    read.fiber.join();
    EXPECT_EQ(read.text(), "early");
  });
}

KIND_TEST(IoRecognition, ADriverWritesAllBeforeItWakes) {
  this->run([] {
    auto [client, server] = make_connection();
    io_test::shrink_buffers(server);
    const std::string all = io_test::pattern(1 << 20);
    std::atomic<int> turns = 0;
    io_result result;
    auto writer = Kind::spawn([&, &stream = server] {
      return become(stream.writing_all(all), [&](io_result put) {
        result = put;
        ++turns;
        stream.shutdown_write();
      });
    });
    until_stackless<Kind>(1);  // though it could begin at once
    EXPECT_EQ(io_test::read_to_end(client), all);
    writer.join();
    EXPECT_EQ(turns, 1);
    EXPECT_EQ(result.size, all.size());
    EXPECT_FALSE(result.error);
  });
}

KIND_TEST(IoRecognition, SaysThatTheStreamWasClosed) {
  this->run([] {
    auto [client, server] = make_connection();
    one_read<Kind> read;
    read.begin(server);
    until_stackless<Kind>(1);
    server.close();
    read.fiber.join();
    EXPECT_EQ(read.result.error, std::errc::operation_canceled);
    one_read<Kind> late;
    late.begin(server);
    late.fiber.join();
    EXPECT_EQ(late.result.error, std::errc::operation_canceled);
  });
}

KIND_TEST(IoRecognition, SaysWhatThePeerDid) {
  this->run([] {
    auto [client, server] = make_connection();
    one_read<Kind> end;
    end.begin(server);
    until_stackless<Kind>(1);
    client.shutdown_write();
    end.fiber.join();
    EXPECT_EQ(end.result.size, 0u);
    EXPECT_FALSE(end.result.error);
    one_read<Kind> broken;
    broken.begin(client);
    until_stackless<Kind>(1);
    io_test::reset(server);
    broken.fiber.join();
    EXPECT_EQ(broken.result.error, std::errc::connection_reset);
  });
}

KIND_TEST(IoRecognition, ReadsUntilADeadlineOrAStop) {
  this->run([] {
    auto [client, server] = make_connection();
    char buffer[8];
    io_result late, stopped;
    Kind::spawn([&, &stream = server] {
      return become(detail::timed_wait(stream.reading_some(buffer), io_test::steady::now() + 1ms),
                    [&](io_result got) { late = got; });
    }).join();
    EXPECT_EQ(late.error, std::errc::timed_out);
    std::stop_source stop;
    auto reader = Kind::spawn([&, &stream = server] {
      return become(stoppable(stream.reading_some(buffer), stop.get_token()),
                    [&](io_result got) { stopped = got; });
    });
    until_stackless<Kind>(1);
    stop.request_stop();
    reader.join();
    EXPECT_EQ(stopped.error, std::errc::timed_out);
  });
}

KIND_TEST(IoRecognition, ReadsForAFiberOfAScopeUntilThatIsStopped) {
  this->run([] {
    auto [client, server] = make_connection();
    char buffer[64] = {};
    std::atomic<int> turns = 0;
    typename Kind::scope scope;
    typename Kind::spawn_options here;
    if constexpr (requires { here.pinned; })
      here.pinned = 0;
    scope.spawn(
        [&, &from = server] {
          return become(from.reading_some(buffer), [&](io_result got) {
            turns += got.size == 5;
            return become(from.reading_some(buffer), [](io_result) { ADD_FAILURE(); });
          });
        },
        here);
    until_stackless<Kind>(1);
    client.write_all("hello", generous());
    expect_read_ahead<Kind>(server, buffer, turns);
    while (turns == 0)
      Kind::yield();
    until_stackless<Kind>(1);
    scope.request_stop();
    scope.join();
    client.write_all("again", generous());
    EXPECT_EQ(server.read_some(buffer, generous()), 5u);
  });
}

// Where the runtime ends, the wait leaves the stream.
KIND_TEST(IoRecognition, EndsWithItsRuntime) {
  auto both = std::make_shared<io_test::connection>();
  auto buffer = std::make_shared<std::string>(16, 0);
  this->run([&] {
    *both = make_connection();
    auto reader = Kind::spawn([both, buffer] {
      return become(both->server.reading_some(*buffer), [both, buffer](io_result) { ADD_FAILURE(); });
    });
    until_stackless<Kind>(1);
    reader.detach();
  });
}

}  // namespace
}  // namespace sennit
