#include "sennit/local/tcp_stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <csignal>
#include <cstring>
#include <optional>
#include <vector>

#include "support.hpp"

namespace {

using namespace io_test;

std::string pattern(std::size_t size) {
  std::string data(size, 0);
  unsigned state = 1;
  for (char& c : data)
    c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return data;
}

TEST(TcpStream, Echoes) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    auto serving = spawn([&] { echo(server); });
    for (const char* text : {"hello", "again", "x"}) {
      client.write_all(text);
      std::string reply;
      char buffer[16];
      while (reply.size() < std::strlen(text))
        reply.append(buffer, client.read_some(buffer, generous()));
      EXPECT_EQ(reply, text);
    }
    client.shutdown_write();
    serving.join();
  });
}

TEST(TcpStream, TakesBytesAndCharacters) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    std::string text = "d";
    const std::array<std::byte, 1> bytes{std::byte{'a'}};
    client.write_all(bytes);
    client.write_all("b");
    client.write_all(std::string_view("c"));
    client.write_all(text);
    client.write_all(std::span<char>(text));
    client.write_all(std::span<const char>(text));
    EXPECT_EQ(client.write_some(std::span<const char>(text)), 1u);
    EXPECT_EQ(client.write_some(bytes), 1u);
    std::error_code error = std::make_error_code(std::errc::io_error);
    EXPECT_EQ(client.write_all(std::span<char>(text), error), 1u);
    EXPECT_FALSE(error);
    client.shutdown_write();

    std::vector<char> characters(2);
    EXPECT_EQ(server.read_some(characters), 2u);
    std::byte some[2];
    EXPECT_EQ(server.read_some(some), 2u);
    EXPECT_EQ(read_to_end(server), "dddad");
  });
}

TEST(TcpStream, MovesMuchBothWaysThroughSmallBuffers) {
  const std::string data = pattern(12 << 20);
  runtime rt;
  rt.run([&] {
    auto [client, server] = make_connection();
    shrink_buffers(client);
    shrink_buffers(server);
    auto send = [&](tcp_stream& stream) {
      return spawn([&] {
        stream.write_all(data, generous());
        stream.shutdown_write();
      });
    };
    auto a = send(client);
    auto b = send(server);
    bool same = false;
    auto reader = spawn([&] { same = read_to_end(server) == data; });
    EXPECT_TRUE(read_to_end(client) == data);
    reader.join();
    EXPECT_TRUE(same);
    a.join();
    b.join();
  });
}

TEST(TcpStream, EndOfStreamStaysTheEnd) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    client.write_all("tail");
    client.close();
    char buffer[64];
    EXPECT_EQ(server.read_some(buffer, generous()), 4u);  // short: the end is known without another event
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(server.read_some(buffer, generous()), 0u);
  });
}

TEST(TcpStream, TheEndThatCameWithTheDataIsSeen) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    char buffer[64];
    auto reader = spawn([&] {
      EXPECT_EQ(server.read_some(buffer, generous()), 3u);
      EXPECT_EQ(server.read_some(buffer, generous()), 0u);
    });
    this_fiber::yield();
    client.write_all("end");
    client.shutdown_write();
    reader.join();
  });
}

TEST(TcpStream, HalfClosedItStillReceives) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    auto serving = spawn([&] {
      const std::string request = read_to_end(server);
      server.write_all("got " + request, generous());
      server.close();
    });
    client.write_all("this");
    client.shutdown_write();
    EXPECT_EQ(read_to_end(client), "got this");
    serving.join();
  });
}

// A read stops at the mark of urgent data, short of what there is.
TEST(TcpStream, UrgentDataDoesNotHideWhatFollows) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    char buffer[64];
    std::error_code error;
    server.read_some(buffer, error, steady::now() + 1ms);  // registers it
    client.write_all("before");
    ASSERT_EQ(::send(client.native_handle(), "!", 1, MSG_OOB | MSG_NOSIGNAL), 1);
    client.write_all("after");
    this_fiber::sleep_for(1ms);
    const auto start = steady::now();
    EXPECT_EQ(server.read_some(buffer, generous()), 6u);
    EXPECT_EQ(server.read_some(buffer, generous()), 5u);
    EXPECT_LT(steady::now() - start, 20s);
  });
}

TEST(TcpStream, AReadGivesUpAtItsDeadline) {
  runtime rt;
  rt.run([] {
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

TEST(TcpStream, ADeadlineInThePastMeansAnAttempt) {
  runtime rt;
  rt.run([] {
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

TEST(TcpStream, DataThatComesTogetherWithTheDeadlineIsRead) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    char buffer[8];
    std::size_t got = 0;
    auto reader = spawn([&] { got = server.read_some(buffer, steady::now() + 1ms); });
    this_fiber::yield();
    client.write_all("both");
    const auto until = steady::now() + 5ms;
    while (steady::now() < until) {
    }
    reader.join();
    EXPECT_EQ(got, 4u);
  });
}

TEST(TcpStream, AWriteGivesUpAtItsDeadlineAndSaysHowFarItCame) {
  const std::string data = pattern(8 << 20);
  runtime rt;
  rt.run([&] {
    auto [client, server] = make_connection();
    shrink_buffers(client);
    shrink_buffers(server);
    std::error_code error;
    const std::size_t written = client.write_all(data, error, steady::now() + 20ms);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_LT(written, data.size());
    EXPECT_EQ(error_of([&] { client.write_some("x", steady::now() + 5ms); }), std::errc::timed_out);
    EXPECT_EQ(error_of([&] { client.write_all("x", steady::now() + 5ms); }), std::errc::timed_out);
    client.shutdown_write();
    EXPECT_TRUE(read_to_end(server) == data.substr(0, written));
  });
}

TEST(TcpStream, AConnectGivesUpAtItsDeadline) {
  runtime rt;
  rt.run([] {
    tcp_listener listener("127.0.0.1", 0, 0);  // nobody accepts, and hardly anybody may wait
    std::vector<tcp_stream> waiting;
    std::error_code error;
    for (int i = 0; i < 100 && !error; ++i)
      waiting.push_back(tcp_stream::connect("127.0.0.1", listener.port(), error, steady::now() + 50ms));
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_FALSE(waiting.back().is_open());
    EXPECT_EQ(error_of([&] { tcp_stream::connect("127.0.0.1", listener.port(), steady::now() + 5ms); }),
              std::errc::timed_out);
  });
}

TEST(TcpStream, AConnectThatIsRefusedSaysSo) {
  runtime rt;
  rt.run([] {
    tcp_listener listener("127.0.0.1", 0);
    const std::uint16_t port = listener.port();
    listener.close();
    EXPECT_EQ(error_of([&] { tcp_stream::connect("127.0.0.1", port); }), std::errc::connection_refused);
    std::error_code error;
    EXPECT_FALSE(tcp_stream::connect("127.0.0.1", port, error).is_open());
    EXPECT_EQ(error, std::errc::connection_refused);
  });
}

TEST(TcpStream, NamesAreNotLookedUpAndTheErrorSaysSo) {
  runtime rt;
  rt.run([] {
    for (const char* name : {"example.org", "", "127.0.0.1.", "::g", "1.2.3.4%lo",
                             "fe80::1%no-such-interface", "0123456789012345678901234567890123456789"}) {
      std::error_code error;
      tcp_stream::connect(name, 80, error);
      EXPECT_EQ(error, std::errc::invalid_argument) << name;
    }
    try {
      tcp_stream::connect("example.org", 80);
      ADD_FAILURE() << "connected to a name";
    } catch (const std::system_error& error) {
      EXPECT_NE(std::string(error.what()).find("example.org port 80"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("not a numeric"), std::string::npos) << error.what();
    }
  });
}

TEST(TcpStream, SpeaksIpv6) {
  runtime rt;
  rt.run([] {
    std::error_code error;
    auto listener = tcp_listener::listen("::", 0, error);
    if (error)
      GTEST_SKIP() << "no IPv6: " << error.message();
    auto client = tcp_stream::connect("::1", listener.port(), error, generous());
    if (error)
      GTEST_SKIP() << "no IPv6 loopback: " << error.message();
    auto server = listener.accept(generous());
    client.write_all("six");
    client.close();
    EXPECT_EQ(read_to_end(server), "six");
    auto four = tcp_stream::connect("127.0.0.1", listener.port(), generous());
    EXPECT_TRUE(listener.accept(generous()).is_open());
  });
}

TEST(TcpStream, APeersResetEndsARead) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    std::error_code error;
    auto reader = spawn([&] {
      char buffer[8];
      error = error_of([&] { server.read_some(buffer, generous()); });
    });
    this_fiber::sleep_for(1ms);
    reset(client);
    reader.join();
    EXPECT_EQ(error, std::errc::connection_reset);
  });
}

TEST(TcpStream, APeersResetEndsAWriteAndLaterOnesFindABrokenPipe) {
  const std::string data = pattern(8 << 20);
  runtime rt;
  rt.run([&] {
    auto [client, server] = make_connection();
    shrink_buffers(server);
    std::error_code error;
    auto writer = spawn([&] { error = error_of([&] { server.write_all(data, generous()); }); });
    this_fiber::sleep_for(5ms);
    reset(client);
    writer.join();
    EXPECT_EQ(error, std::errc::connection_reset);
    EXPECT_EQ(error_of([&] { server.write_all("x", generous()); }), std::errc::broken_pipe);
  });
}

volatile std::sig_atomic_t pipe_signals = 0;

TEST(TcpStream, NeverRaisesSigpipe) {
  struct sigaction count{};
  count.sa_handler = [](int) { pipe_signals = pipe_signals + 1; };
  struct sigaction former{};
  sigaction(SIGPIPE, &count, &former);
  runtime rt;
  rt.run([] {
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

TEST(TcpStream, ClosingItCancelsWhoWaits) {
  const std::string data = pattern(8 << 20);
  runtime rt;
  rt.run([&] {
    auto [client, server] = make_connection();
    shrink_buffers(server);
    std::error_code reading;
    std::error_code writing;
    auto reader = spawn([&] {
      char buffer[8];
      server.read_some(buffer, reading, generous());
    });
    auto writer = spawn([&] { writing = error_of([&] { server.write_all(data); }); });
    this_fiber::sleep_for(5ms);
    server.close();
    reader.join();
    writer.join();
    EXPECT_EQ(reading, std::errc::operation_canceled);
    EXPECT_EQ(writing, std::errc::operation_canceled);
  });
}

// The reader has been woken, but before it runs its stream is closed, and what the library kept of it serves
// another connection.
TEST(TcpStream, AReaderThatWasWokenDoesNotReadFromTheNextStream) {
  runtime rt;
  rt.run([] {
    tcp_listener listener("127.0.0.1", 0);
    auto first = connect_to(listener);
    auto second = connect_to(listener);
    std::optional<connection> third;
    std::error_code error;
    auto closer = spawn([&] {  // waits first, is woken first
      char buffer[8];
      second.server.read_some(buffer, generous());
      first.server.close();
      third = connect_to(listener);
      third->client.write_all("secret");
    });
    auto reader = spawn([&] {
      char buffer[8];
      first.server.read_some(buffer, error, generous());
    });
    this_fiber::yield();
    second.client.write_all("2");
    first.client.write_all("1");
    closer.join();
    reader.join();
    EXPECT_EQ(error, std::errc::operation_canceled);
    third->client.close();
    EXPECT_EQ(read_to_end(third->server), "secret");
  });
}

// The reader gives way in the middle of plenty; when it goes on its stream is another one.
TEST(TcpStream, AReaderThatGaveWayDoesNotReadFromTheNextStream) {
  runtime rt;
  rt.run([] {
    tcp_listener listener("127.0.0.1", 0);
    auto first = connect_to(listener);
    std::optional<connection> second;
    first.client.write_all(std::string(1000, 'x'));
    std::error_code error;
    auto closer = spawn([&] {
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
    EXPECT_LE(reads, 64);
    closer.join();
    second->client.close();
    EXPECT_EQ(read_to_end(second->server), "secret");
  });
}

TEST(TcpStream, AClosedOneFailsAndClosesAgain) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    client.close();
    client.close();
    tcp_stream never_open;
    char buffer[8];
    for (tcp_stream* stream : {&client, &never_open}) {
      EXPECT_FALSE(stream->is_open());
      EXPECT_EQ(stream->native_handle(), -1);
      EXPECT_EQ(error_of([&] { stream->read_some(buffer); }), std::errc::bad_file_descriptor);
      EXPECT_EQ(error_of([&] { stream->write_all("x"); }), std::errc::bad_file_descriptor);
      EXPECT_EQ(error_of([&] { stream->write_some("x"); }), std::errc::bad_file_descriptor);
      EXPECT_EQ(error_of([&] { stream->shutdown_write(); }), std::errc::bad_file_descriptor);
      EXPECT_EQ(error_of([&] { stream->set_no_delay(true); }), std::errc::bad_file_descriptor);
    }
  });
}

TEST(TcpStream, MayBeMovedWhileAFiberWaitsInIt) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    std::size_t got = 0;
    auto reader = spawn([&] {
      char buffer[8];
      got = server.read_some(buffer, generous());
    });
    this_fiber::sleep_for(1ms);
    tcp_stream moved = std::move(server);
    client.write_all("moved");
    reader.join();
    EXPECT_EQ(got, 5u);
    server = std::move(moved);
    client.close();
    EXPECT_EQ(read_to_end(server), "");
  });
}

int no_delay_of(const tcp_stream& stream) {
  int value = -1;
  socklen_t size = sizeof value;
  getsockopt(stream.native_handle(), IPPROTO_TCP, TCP_NODELAY, &value, &size);
  return value;
}

TEST(TcpStream, DoesNotDelayUnlessTold) {
  runtime rt;
  rt.run([] {
    auto [client, server] = make_connection();
    EXPECT_EQ(no_delay_of(client), 1);
    EXPECT_EQ(no_delay_of(server), 1);
    server.set_no_delay(false);
    EXPECT_EQ(no_delay_of(server), 0);
  });
}

TEST(TcpStream, AdoptsASocket) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  runtime rt;
  rt.run([&] {
    auto a = tcp_stream::adopt(ends[0]);
    auto b = tcp_stream::adopt(ends[1]);
    std::string got;
    auto reader = spawn([&] { got = read_to_end(b); });
    this_fiber::yield();
    a.write_all("adopted");
    a.close();
    reader.join();
    EXPECT_EQ(got, "adopted");
    std::error_code error;
    EXPECT_FALSE(tcp_stream::adopt(-1, error).is_open());
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_EQ(error_of([] { tcp_stream::adopt(-1); }), std::errc::bad_file_descriptor);
  });
}

// The kernel goes on telling of a file descriptor that was closed, as long as a duplicate is open.
TEST(TcpStream, ADuplicateOfAClosedOneDisturbsNobody) {
  runtime rt;
  rt.run([] {
    tcp_listener listener("127.0.0.1", 0);
    auto former = connect_to(listener);
    char buffer[8];
    std::error_code error;
    former.server.read_some(buffer, error, steady::now() + 1ms);  // registers it
    const int duplicate = ::dup(former.server.native_handle());
    former.server.close();
    auto next = connect_to(listener);
    std::string got;
    auto reader = spawn([&] { got = read_to_end(next.server); });
    for (int i = 0; i < 10; ++i) {
      former.client.write_all("?");
      this_fiber::sleep_for(1ms);
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
