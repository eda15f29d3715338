#include "sennit/tcp_listener.hpp"

#include <sys/resource.h>

#include <atomic>
#include <vector>

#include "support.hpp"

namespace {

using namespace io_test;

template <class Kind>
class TcpListener : public kind_test<Kind> {};

KIND_TEST(TcpListener, TheKernelChoosesAPort) {
  tcp_listener a("127.0.0.1", 0);  // outside of a runtime
  tcp_listener b("127.0.0.1", 0);
  EXPECT_NE(a.port(), 0);
  EXPECT_NE(a.port(), b.port());
  this->run([&] { EXPECT_TRUE(connect_to(a).server.is_open()); });
}

TEST(TcpListener, SaysWhyItCannotListen) {
  tcp_listener other("127.0.0.1", 0);
  EXPECT_EQ(error_of([&] { tcp_listener("127.0.0.1", other.port()); }), std::errc::address_in_use);
  std::error_code error;
  EXPECT_FALSE(tcp_listener::listen("192.0.2.1", 0, error).is_open());  // a documentation address
  EXPECT_EQ(error, std::errc::address_not_available);
  EXPECT_EQ(error_of([] { tcp_listener("localhost", 0); }), std::errc::invalid_argument);
}

KIND_TEST(TcpListener, AcceptGivesUpAtItsDeadline) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    EXPECT_EQ(error_of([&] { listener.accept(steady::now() + 5ms); }), std::errc::timed_out);
    std::error_code error;
    EXPECT_FALSE(listener.accept(error, steady::now() + 5ms).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_TRUE(connect_to(listener).server.is_open());
  });
}

KIND_TEST(TcpListener, ClosingItCancelsAccept) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    std::error_code error;
    auto acceptor = start<Kind>([&] { listener.accept(error, generous()); });
    listener.close();
    acceptor.join();
    EXPECT_EQ(error, std::errc::operation_canceled);
    EXPECT_EQ(error_of([&] { listener.accept(); }), std::errc::operation_canceled);
    EXPECT_EQ(error_of([] { tcp_listener().accept(); }), std::errc::bad_file_descriptor);
    EXPECT_EQ(listener.port(), 0);
    EXPECT_EQ(listener.native_handle(), -1);
    EXPECT_EQ(listener.refused(), 0u);
    listener.close();
  });
}

KIND_TEST(TcpListener, MayBeMovedWhileAFiberWaitsInIt) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    tcp_stream server;
    auto acceptor = start<Kind>([&] { server = listener.accept(generous()); });
    tcp_listener moved = std::move(listener);
    auto client = tcp_stream::connect("127.0.0.1", moved.port(), generous());
    acceptor.join();
    EXPECT_TRUE(server.is_open());
  });
}

KIND_TEST(TcpListener, PassesOverConnectionsThatBrokeOff) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    for (int i = 0; i < 3; ++i) {
      auto gone = tcp_stream::connect("127.0.0.1", listener.port(), generous());
      reset(gone);
    }
    auto client = tcp_stream::connect("127.0.0.1", listener.port(), generous());
    client.write_all("here");
    for (;;) {  // Linux delivers connections that were reset; reading tells
      auto server = listener.accept(generous());
      char buffer[8];
      std::error_code error;
      if (server.read_some(buffer, error, generous()) == 4)
        break;
      EXPECT_EQ(error, std::errc::connection_reset);
    }
  });
}

KIND_TEST(TcpListener, FiveHundredConnectionsAtOnce) {
  constexpr int count = 500;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  setrlimit(RLIMIT_NOFILE, &limit);
  std::atomic<int> served{0};
  this->run([&] {
    tcp_listener listener("127.0.0.1", 0);
    auto acceptor = Kind::spawn([&] {
      for (int i = 0; i < count; ++i)
        Kind::spawn([stream = listener.accept(generous())]() mutable { echo(stream); });
    });
    std::vector<typename Kind::fiber> clients;
    for (int i = 0; i < count; ++i)
      clients.push_back(Kind::spawn([&, i] {
        auto stream = tcp_stream::connect("127.0.0.1", listener.port(), generous());
        const std::string text = "client " + std::to_string(i);
        for (int round = 0; round < 3; ++round) {
          stream.write_all(text, generous());
          char buffer[32];
          std::size_t size = 0;
          while (size < text.size())
            size += stream.read_some(std::span(buffer).subspan(size), generous());
          EXPECT_EQ(std::string_view(buffer, size), text);
          Kind::sleep_for(1ms);
        }
        ++served;
      }));
    for (auto& client : clients)
      client.join();
    acceptor.join();
  });
  EXPECT_EQ(served, count);
}

// Leaves `count` file descriptors to those who come.
void leave_descriptors(int count) {
  const int next = ::dup(0);
  ::close(next);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = static_cast<rlim_t>(next + count);
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::chrono::microseconds processor_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

bool is_served(tcp_stream& client) {
  std::error_code error;
  char buffer[8];
  client.write_all("hello", error, generous());
  return !error && client.read_some(buffer, error, generous()) == 5;
}

// Its tests have a runtime only in a child: a process with threads must not fork.
template <class Kind>
class TcpListenerLimits : public testing::Test {};

template <class Kind, class Function>
bool in_runtime_of(Function function) {
  Kind rt;
  bool good = false;
  rt.run([&] { good = function(); });
  return good;
}

// Ten clients come, but there are descriptors for three.
template <class Kind>
bool survives_want_of_descriptors() {
  return in_runtime_of<Kind>([] {
    tcp_listener listener("127.0.0.1", 0);
    std::vector<tcp_stream> clients;
    for (int i = 0; i < 10; ++i)
      clients.push_back(tcp_stream::connect("127.0.0.1", listener.port(), generous()));
    leave_descriptors(3);
    auto acceptor = Kind::spawn([&] {
      std::error_code closed;
      for (;;) {
        tcp_stream accepted = listener.accept(closed, generous());
        if (closed)
          return;
        Kind::spawn([stream = std::move(accepted)]() mutable {
          try {
            echo(stream);
          } catch (const std::system_error&) {
          }
        });
      }
    });
    const struct ending {
      ~ending() {
        listener.close();
        acceptor.join();
      }
      tcp_listener& listener;
      typename Kind::fiber& acceptor;
    } at_the_end{listener, acceptor};
    for (int i = 0; i < 10; ++i) {
      if (is_served(clients[static_cast<std::size_t>(i)]) != (i < 3))
        return std::fprintf(stderr, "client %d\n", i), false;
    }
    if (listener.refused() != 7)
      return std::fprintf(stderr, "refused %d\n", static_cast<int>(listener.refused())), false;
    const auto before = processor_time();
    Kind::sleep_for(200ms);
    if (processor_time() - before > 150ms)
      return std::fprintf(stderr, "accept spins\n"), false;
    clients.erase(clients.begin() + 2, clients.end());  // one that is served goes too
    Kind::sleep_for(10ms);
    auto late = tcp_stream::connect("127.0.0.1", listener.port(), generous());
    return is_served(late) && is_served(clients[0]) && is_served(clients[1]) && listener.refused() == 7;
  });
}

KIND_TEST(TcpListenerLimits, RefusesWhoComesWhenDescriptorsRunOutAndRecovers) {
  EXPECT_TRUE(in_child(survives_want_of_descriptors<Kind>));
}

// Not even the reserve is there: accept waits, without using the processor, until one comes free.
template <class Kind>
bool survives_the_loss_of_its_reserve() {
  return in_runtime_of<Kind>([] {
    tcp_listener listener("127.0.0.1", 0);
    auto client = tcp_stream::connect("127.0.0.1", listener.port(), generous());
    leave_descriptors(0);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t enough = limit.rlim_cur;
    limit.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::error_code error;  // looked at later: UBSan wants file descriptors to check a virtual call
    listener.accept(error, steady::now() + 20ms);
    auto acceptor = Kind::spawn([&] {
      auto server = listener.accept(generous());
      echo(server);
    });
    const auto before = processor_time();
    Kind::sleep_for(200ms);
    const auto used = processor_time() - before;
    limit.rlim_cur = enough + 8;
    setrlimit(RLIMIT_NOFILE, &limit);
    const bool good =
        error == std::errc::timed_out && is_served(client) && used < 150ms && listener.refused() == 0;
    client.close();
    listener.close();
    acceptor.join();
    return good;
  });
}

KIND_TEST(TcpListenerLimits, WaitsWhenItHasLostItsReserve) {
  EXPECT_TRUE(in_child(survives_the_loss_of_its_reserve<Kind>));
}

}  // namespace
