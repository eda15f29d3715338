// Deadlines, peers that break off, and streams that are closed while fibers wait in them.
#include "sennit/tcp_stream.hpp"

#include <netinet/in.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>
#include <vector>

#include "sennit/look_up.hpp"
#include "support.hpp"

namespace {

using namespace io_test;

template <class Kind>
class TcpStreamFailure : public kind_test<Kind> {};

KIND_TEST(TcpStreamFailure, AReadGivesUpAtItsDeadline) {
  this->run([] {
    auto [client, server] = make_connection();
    char buffer[8];
    EXPECT_EQ(error_of([&] { server.read_some(buffer, steady::now() + 5ms); }), std::errc::timed_out);
    std::error_code error;
    EXPECT_EQ(server.read_some(buffer, error, steady::now() + 5ms), 0u);
    EXPECT_EQ(error, std::errc::timed_out);
    client.write_all("late");  // and is none the worse for it
    EXPECT_EQ(server.read_some(buffer, error, generous()), 4u);
    EXPECT_FALSE(error);
  });
}

KIND_TEST(TcpStreamFailure, ADeadlineInThePastMeansAnAttempt) {
  this->run([] {
    auto [client, server] = make_connection();
    char buffer[8];
    const auto past = steady::time_point::min();
    EXPECT_EQ(error_of([&] { server.read_some(buffer, past); }), std::errc::timed_out);
    client.write_all("now");
    EXPECT_EQ(server.read_some(buffer, past), 3u);
    client.write_all("more");
    EXPECT_EQ(server.read_some(buffer, past), 4u);
  });
}

KIND_TEST(TcpStreamFailure, DataThatComesTogetherWithTheDeadlineIsRead) {
  this->run([] {
    auto [client, server] = make_connection();
    char buffer[8];
    std::size_t got = 0;
    const auto deadline = steady::now() + 5ms;
    auto reader = start<Kind>([&] {
      std::error_code error;
      got = server.read_some(buffer, error, deadline);
    });
    client.write_all("both");
    // Another worker serves the deadline as well.
    const bool in_time = Kind::param.workers < 2 || steady::now() < deadline;
    while (steady::now() < deadline + 1ms) {
    }
    reader.join();
    EXPECT_TRUE(got == 4 || (got == 0 && !in_time)) << got;
  });
}

KIND_TEST(TcpStreamFailure, AWriteGivesUpAtItsDeadlineAndSaysHowFarItCame) {
  const std::string data = pattern(8 << 20);
  this->run([&] {
    auto [client, server] = make_connection();
    shrink_buffers(client);
    shrink_buffers(server);
    std::error_code error;
    const std::size_t written = client.write_all(data, error, steady::now() + 20ms);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_LT(written, data.size());
    // The kernel may have found room for a little more meanwhile, but not for all of it.
    EXPECT_EQ(error_of([&] { client.write_all(data, steady::now() + 5ms); }), std::errc::timed_out);
    client.shutdown_write();
    EXPECT_EQ(read_to_end(server).compare(0, written, data, 0, written), 0);
  });
}

KIND_TEST(TcpStreamFailure, AConnectGivesUpAtItsDeadline) {
  this->run([] {
    const silent_listener silent;
    std::error_code error;
    EXPECT_FALSE(
        tcp_stream::connect("127.0.0.1", silent.listener.port(), error, steady::now() + 50ms).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_EQ(
        error_of([&] { tcp_stream::connect("127.0.0.1", silent.listener.port(), steady::now() + 5ms); }),
        std::errc::timed_out);
  });
}

KIND_TEST(TcpStreamFailure, AConnectWithoutADescriptorSaysSo) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit none{0, limit.rlim_max};  // more; those that are open stay
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    std::error_code said;  // UndefinedBehaviorSanitizer would want a descriptor to look at one that is thrown
    tcp_stream::connect("127.0.0.1", listener.port(), said, generous());
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(said, std::errc::too_many_files_open);
    tcp_stream::connect("127.0.0.1", listener.port(), generous());
  });
}

KIND_TEST(TcpStreamFailure, AConnectThatIsRefusedSaysSo) {
  this->run([] {
    // Taken, so that no other process listens there, but there is no listener here either.
    const int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&at), size), 0);
    ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&at), &size), 0);
    const std::uint16_t port = ntohs(at.sin_port);
    EXPECT_EQ(error_of([&] { tcp_stream::connect("127.0.0.1", port); }), std::errc::connection_refused);
    std::error_code error;
    EXPECT_FALSE(tcp_stream::connect("127.0.0.1", port, error).is_open());
    EXPECT_EQ(error, std::errc::connection_refused);
    ::close(taken);
  });
}

KIND_TEST(TcpStreamFailure, ANameThatIsNobodysSaysSo) {
  this->run([] {
    for (const char* name : {"no-such-host.invalid", "", "::g", "fe80::1%no-such-interface"}) {
      std::error_code error;
      tcp_stream::connect(name, 80, error);
      EXPECT_EQ(error.category(), sennit::lookup_category()) << name << ": " << error.message();
    }
    try {
      tcp_stream::connect("no-such-host.invalid", 80);
      ADD_FAILURE() << "connected to nobody";
    } catch (const std::system_error& error) {
      EXPECT_NE(std::string(error.what()).find("no-such-host.invalid port 80"), std::string::npos)
          << error.what();
    }
  });
}

KIND_TEST(TcpStreamFailure, APeersResetEndsARead) {
  this->run([] {
    auto [client, server] = make_connection();
    std::error_code error;
    auto reader = Kind::spawn([&] {
      char buffer[8];
      error = error_of([&] { server.read_some(buffer, generous()); });
    });
    Kind::yield();  // it waits now, unless another worker is to run it
    reset(client);
    reader.join();
    EXPECT_EQ(error, std::errc::connection_reset);
  });
}

KIND_TEST(TcpStreamFailure, APeersResetEndsAWriteAndLaterOnesFindABrokenPipe) {
  const std::string data = pattern(8 << 20);
  this->run([&] {
    auto [client, server] = make_connection();
    shrink_buffers(server);
    std::error_code error;
    auto writer = Kind::spawn([&] { error = error_of([&] { server.write_all(data, generous()); }); });
    Kind::yield();  // it has filled the buffers, and waits, unless another worker is to run it
    reset(client);
    writer.join();
    EXPECT_EQ(error, std::errc::connection_reset);
    EXPECT_EQ(error_of([&] { server.write_all("x", generous()); }), std::errc::broken_pipe);
  });
}

volatile std::sig_atomic_t pipe_signals = 0;

KIND_TEST(TcpStreamFailure, NeverRaisesSigpipe) {
  struct sigaction count{};
  count.sa_handler = [](int) { pipe_signals = pipe_signals + 1; };
  struct sigaction former{};
  sigaction(SIGPIPE, &count, &former);
  this->run([] {
    auto [client, server] = make_connection();
    reset(client);
    std::error_code error;
    for (int i = 0; i < 10; ++i)
      server.write_all("x", error, generous());
    EXPECT_EQ(error, std::errc::broken_pipe);
    server.write_some("x", error, generous());
    EXPECT_EQ(error, std::errc::broken_pipe);
  });
  EXPECT_EQ(pipe_signals, 0);
  sigaction(SIGPIPE, &former, nullptr);
}

KIND_TEST(TcpStreamFailure, ClosingItCancelsWhoWaits) {
  const std::string data = pattern(8 << 20);
  this->run([&] {
    auto [client, server] = make_connection();
    shrink_buffers(server);
    std::error_code reading;
    std::error_code writing;
    auto reader = start<Kind>([&] {
      char buffer[8];
      server.read_some(buffer, reading, generous());
    });
    auto writer = start<Kind>([&] { writing = error_of([&] { server.write_all(data); }); });
    server.close();  // both wait now
    reader.join();
    writer.join();
    EXPECT_EQ(reading, std::errc::operation_canceled);
    EXPECT_EQ(writing, std::errc::operation_canceled);
  });
}

// The reader has been woken, but before it runs its stream is closed, and what the library kept of it serves
// another connection.
KIND_TEST(TcpStreamFailure, AReaderThatWasWokenDoesNotReadFromTheNextStream) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    auto first = connect_to(listener);
    auto second = connect_to(listener);
    std::optional<connection> third;
    std::error_code error;
    auto closer = start<Kind>([&] {  // waits first, is woken first
      char buffer[8];
      second.server.read_some(buffer, generous());
      first.server.close();
      third = connect_to(listener);
      third->client.write_all("secret");
    });
    char got[8] = {};
    auto reader = start<Kind>([&] { first.server.read_some(got, error, generous()); });
    second.client.write_all("2");
    first.client.write_all("1");
    closer.join();
    reader.join();
    // If the last woken fiber may run first, the reader may have been in time.
    const bool in_order = Kind::param.policy != sennit::run_policy::lifo && Kind::param.workers < 2;
    EXPECT_TRUE(error == std::errc::operation_canceled || (!in_order && !error && got[0] == '1'))
        << error.message();
    third->client.close();
    EXPECT_EQ(read_to_end(third->server), "secret");
  });
}

// The reader yields although there is more to read; when it resumes, its stream is another one.
KIND_TEST(TcpStreamFailure, AReaderThatGaveWayDoesNotReadFromTheNextStream) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    auto first = connect_to(listener);
    std::optional<connection> second;
    first.client.write_all(std::string(1000, 'x'));
    std::error_code error;
    auto closer = Kind::spawn_here([&] {
      first.server.close();
      second = connect_to(listener);
      second->client.write_all("secret");
    });
    char one[1];
    int reads = 0;
    tcp_stream* stream = &first.server;
    while (stream->read_some(one, error, generous()) == 1)
      ++reads;
    EXPECT_EQ(error, std::errc::operation_canceled);
    EXPECT_TRUE(reads <= 64 || Kind::param.workers > 1) << reads;  // a thief may hold the closer meanwhile
    closer.join();
    second->client.close();
    EXPECT_EQ(read_to_end(second->server), "secret");
  });
}

KIND_TEST(TcpStreamFailure, AClosedOneFailsAndClosesAgain) {
  this->run([] {
    auto [client, server] = make_connection();
    client.close();
    client.close();
    tcp_stream never_open;
    const tcp_stream moved_to = std::move(server);
    char buffer[8];
    for (tcp_stream* stream : {&client, &never_open, &server}) {
      const auto expected =
          stream == &client ? std::errc::operation_canceled : std::errc::bad_file_descriptor;
      EXPECT_FALSE(stream->is_open());
      EXPECT_EQ(stream->native_handle(), -1);
      EXPECT_EQ(error_of([&] { stream->read_some(buffer); }), expected);
      EXPECT_EQ(error_of([&] { stream->write_all("x"); }), expected);
      EXPECT_EQ(error_of([&] { stream->write_some("x"); }), expected);
      EXPECT_EQ(error_of([&] { stream->shutdown_write(); }), expected);
      EXPECT_EQ(error_of([&] { stream->set_no_delay(true); }), expected);
    }
  });
}

// The kernel keeps reporting a file descriptor that was closed, as long as a duplicate is open.
KIND_TEST(TcpStreamFailure, ADuplicateOfAClosedOneDisturbsNobody) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    auto former = connect_to(listener);
    char buffer[8];
    std::error_code error;
    former.server.read_some(buffer, error, steady::now() + 1ms);  // registers it
    const int duplicate = ::dup(former.server.native_handle());
    former.server.close();
    auto next = connect_to(listener);
    std::string got;
    auto reader = Kind::spawn([&] { got = read_to_end(next.server); });
    for (int i = 0; i < 10; ++i) {
      former.client.write_all("?");
      Kind::sleep_for(1ms);
    }
    former.client.close();
    next.client.write_all("right");
    next.client.close();
    reader.join();
    EXPECT_EQ(got, "right");
    ::close(duplicate);
  });
}

}  // namespace
