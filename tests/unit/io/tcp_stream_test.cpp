#include "sennit/tcp_stream.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support.hpp"

namespace {

using namespace io_test;

template <class Kind>
class TcpStream : public kind_test<Kind> {};

KIND_TEST(TcpStream, Echoes) {
  this->run([] {
    auto [client, server] = make_connection();
    auto serving = Kind::spawn([&] { echo(server); });
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

KIND_TEST(TcpStream, ClosesItsConnectionWhenAnotherIsAssigned) {
  this->run([] {
    auto [client, server] = make_connection();
    auto [other_client, other_server] = make_connection();
    client = std::move(other_client);
    EXPECT_FALSE(other_client.is_open());
    char buffer[8];
    EXPECT_EQ(server.read_some(buffer, generous()), 0u);
    client.write_all("x");
    EXPECT_EQ(other_server.read_some(buffer, generous()), 1u);
  });
}

KIND_TEST(TcpStream, TakesBytesAndCharacters) {
  this->run([] {
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

KIND_TEST(TcpStream, MovesMuchBothWaysThroughSmallBuffers) {
  const std::string data = pattern(12 << 20);
  this->run([&] {
    auto [client, server] = make_connection();
    shrink_buffers(client);
    shrink_buffers(server);
    auto send = [&](tcp_stream& stream) {
      return Kind::spawn([&] {
        stream.write_all(data, generous());
        stream.shutdown_write();
      });
    };
    auto a = send(client);
    auto b = send(server);
    bool same = false;
    auto reader = Kind::spawn([&] { same = read_to_end(server) == data; });
    EXPECT_TRUE(read_to_end(client) == data);
    reader.join();
    EXPECT_TRUE(same);
    a.join();
    b.join();
  });
}

KIND_TEST(TcpStream, EndOfStreamStaysTheEnd) {
  this->run([] {
    auto [client, server] = make_connection();
    client.write_all("tail");
    client.close();
    char buffer[64];
    EXPECT_EQ(server.read_some(buffer, generous()), 4u);  // short: the end is known without another event
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(server.read_some(buffer, generous()), 0u);
  });
}

KIND_TEST(TcpStream, TheEndThatCameWithTheDataIsSeen) {
  this->run([] {
    auto [client, server] = make_connection();
    char buffer[64];
    auto reader = Kind::spawn([&] {
      EXPECT_EQ(server.read_some(buffer, generous()), 3u);
      EXPECT_EQ(server.read_some(buffer, generous()), 0u);
    });
    Kind::yield();
    client.write_all("end");
    client.shutdown_write();
    reader.join();
  });
}

KIND_TEST(TcpStream, HalfClosedItStillReceives) {
  this->run([] {
    auto [client, server] = make_connection();
    auto serving = Kind::spawn([&] {
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
KIND_TEST(TcpStream, UrgentDataDoesNotHideWhatFollows) {
  this->run([] {
    auto [client, server] = make_connection();
    char buffer[64];
    std::error_code error;
    server.read_some(buffer, error, steady::now() + 1ms);  // registers it
    client.write_all("before");
    ASSERT_EQ(::send(client.native_handle(), "!", 1, MSG_OOB | MSG_NOSIGNAL), 1);
    client.write_all("after");
    Kind::sleep_for(1ms);
    EXPECT_EQ(server.read_some(buffer, generous()), 6u);
    EXPECT_EQ(server.read_some(buffer, generous()), 5u);
  });
}

KIND_TEST(TcpStream, SpeaksIpv6) {
  this->run([] {
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

KIND_TEST(TcpStream, MayBeMovedWhileAFiberWaitsInIt) {
  this->run([] {
    auto [client, server] = make_connection();
    std::size_t got = 0;
    auto reader = start<Kind>([&] {
      char buffer[8];
      got = server.read_some(buffer, generous());
    });
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

KIND_TEST(TcpStream, DoesNotDelayUnlessTold) {
  this->run([] {
    auto [client, server] = make_connection();
    EXPECT_EQ(no_delay_of(client), 1);
    EXPECT_EQ(no_delay_of(server), 1);
    server.set_no_delay(false);
    EXPECT_EQ(no_delay_of(server), 0);
  });
}

KIND_TEST(TcpStream, AdoptsASocket) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  this->run([&] {
    auto a = tcp_stream::adopt(ends[0]);
    auto b = tcp_stream::adopt(ends[1]);
    std::string got;
    auto reader = Kind::spawn([&] { got = read_to_end(b); });
    Kind::yield();
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

// A refused descriptor stays open, and as it was.
TEST(TcpStream, AdoptRefusesAnythingButAStreamSocket) {
  struct unfit {
    const char* what;
    std::errc error;
    int descriptor;
  };
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::listen(listening, 1), 0);
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  for (const unfit& each :
       {unfit{"a pipe's read end", std::errc::not_a_socket, ends[0]},
        {"a pipe's write end", std::errc::not_a_socket, ends[1]},
        {"a terminal", std::errc::not_a_socket, terminal},
        {"a file", std::errc::not_a_socket, ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)},
        {"an epoll instance", std::errc::not_a_socket, ::epoll_create1(EPOLL_CLOEXEC)},
        {"a TCP listener", std::errc::invalid_argument, listening},
        {"UDP", std::errc::wrong_protocol_type, ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)},
        {"Unix datagrams", std::errc::wrong_protocol_type, ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)},
        {"Unix packets", std::errc::wrong_protocol_type,
         ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)}}) {
    SCOPED_TRACE(each.what);
    if (each.descriptor == terminal && terminal < 0)
      continue;  // there is no /dev/ptmx
    ASSERT_GE(each.descriptor, 0);
    std::error_code error;
    EXPECT_FALSE(tcp_stream::adopt(each.descriptor, error).is_open());
    EXPECT_EQ(error, each.error);
    EXPECT_EQ(error_of([&] { tcp_stream::adopt(each.descriptor); }), each.error);
    const int flags = ::fcntl(each.descriptor, F_GETFL);
    EXPECT_TRUE(flags >= 0 && (flags & O_NONBLOCK) == 0) << flags;
    ::close(each.descriptor);
  }
}

TEST(TcpStream, AdoptsASocketThatIsNotConnected) {
  sennit::runtime({.workers = 1}).run([] {
    auto stream = tcp_stream::adopt(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    char byte[1];
    EXPECT_EQ(error_of([&] { stream.read_some(byte); }), std::errc::not_connected);
  });
}

}  // namespace
