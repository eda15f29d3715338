// Select over file descriptors, channels and time, in fibers of both kinds of runtime.
#include <sys/eventfd.h>

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "sennit/select_io.hpp"
#include "sennit/stop_guard.hpp"
#include "support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using io_test::connection;
using io_test::make_connection;

template <class Kind>
class SelectIo : public kind_test<Kind> {};

KIND_TEST(SelectIo, WaitsForAStreamOrAChannel) {
  this->run([] {
    constexpr int count = 50;
    connection both = make_connection();
    typename Kind::template channel<int> numbers;
    auto writer = Kind::spawn([&] {
      for (int i = 0; i < count; ++i) {
        both.client.write_all("x", io_test::generous());
        if (i % 3 == 0)
          Kind::sleep_for(50us);
      }
      both.client.close();
    });
    auto sender = Kind::spawn([&] {
      for (int i = 0; i < count; ++i)
        numbers.send(i);
    });
    int bytes = 0;
    int sum = 0;
    int received = 0;
    bool open = true;
    while (open || received < count)
      select(on_readable(both.server,
                         [&] {
                           char buffer[3];
                           const std::size_t got = both.server.read_some(buffer, io_test::generous());
                           bytes += static_cast<int>(got);
                           open = open && got != 0;
                           if (!open)
                             Kind::sleep_for(50us);
                         }),
             on_receive(numbers,
                        [&](std::optional<int> n) {
                          sum += n.value_or(0);
                          ++received;
                        }),
             on_timeout(1h, [] { ADD_FAILURE(); }));
    EXPECT_EQ(bytes, count);
    EXPECT_EQ(sum, count * (count - 1) / 2);
    writer.join();
    sender.join();
  });
}

// The cases of a list are used repeatedly.
KIND_TEST(SelectIo, WaitsWithAList) {
  this->run([] {
    constexpr int count = 30;
    connection both = make_connection();
    typename Kind::template channel<int> numbers;
    int bytes = 0;
    int received = 0;
    std::size_t readable = 0;
    typename Kind::select_list list;
    list.add(on_receive(numbers, [&](std::optional<int>) { ++received; }));
    readable = list.add(on_readable(both.server, [&] {
      char buffer[3];
      const std::size_t got = both.server.read_some(buffer, io_test::generous());
      bytes += static_cast<int>(got);
      if (got == 0)
        list.remove(readable);
    }));
    EXPECT_EQ(list.try_select(), std::nullopt);
    auto writer = Kind::spawn([&] {
      for (int i = 0; i < count; ++i) {
        both.client.write_all("x", io_test::generous());
        if (i % 3 == 0)
          Kind::sleep_for(50us);
      }
      both.client.close();
    });
    auto sender = Kind::spawn([&] {
      for (int i = 0; i < count; ++i)
        numbers.send(i);
    });
    while (list.size() == 2 || received < count)
      EXPECT_TRUE(list.select());
    EXPECT_EQ(bytes, count);
    EXPECT_EQ(list.select_until(std::chrono::steady_clock::now() + 1ms), std::nullopt);
    writer.join();
    sender.join();
  });
}

KIND_TEST(SelectIo, ACaseOfAListKeepsTheConnectionThatItWasMadeFor) {
  this->run([] {
    connection both = make_connection();
    connection others = make_connection();
    typename Kind::select_list list;
    list.add(on_readable(both.server, [] {}));
    tcp_stream moved = std::move(both.server);
    both.server = std::move(others.server);
    others.client.write_all("x", io_test::generous());
    EXPECT_EQ(list.select_until(std::chrono::steady_clock::now() + 1ms), std::nullopt);
    both.client.write_all("x", io_test::generous());
    EXPECT_EQ(list.select(), 0u);
    list.clear();
  });
}

KIND_TEST(SelectIo, SeesWhatIsThereAndWhatIsNot) {
  this->run([] {
    connection both = make_connection();
    const auto nothing = [] {};
    EXPECT_EQ(select(on_readable(both.server, nothing), otherwise(nothing)), 1u);
    EXPECT_EQ(select(on_readable(both.server, nothing), on_timeout(1ms, nothing)), 1u);
    EXPECT_EQ(select(on_readable(both.server, nothing), on_writable(both.server, nothing)), 1u);
    both.client.write_all("text", io_test::generous());
    EXPECT_EQ(select(on_readable(both.server, nothing), on_timeout(1min, nothing)), 0u);
    char buffer[10];
    EXPECT_EQ(both.server.read_some(buffer, io_test::generous()), 4u);
    EXPECT_EQ(select(on_readable(both.server, nothing), on_timeout(1ms, nothing)), 1u);
    both.server.close();
    EXPECT_EQ(select(on_readable(both.server, nothing), on_timeout(1min, nothing)), 0u);
    EXPECT_EQ(select(on_readable(tcp_stream(), nothing), on_timeout(1min, nothing)), 0u);
  });
}

KIND_TEST(SelectIo, OneStreamMayBeInSeveralCases) {
  this->run([] {
    auto [client, server] = make_connection();
    const auto chosen = [&server](std::chrono::milliseconds time) {
      int result = -1;
      select(on_readable(server, [&] { result = 0; }), on_readable(server, [&] { result = 0; }),
             on_timeout(time, [&] { result = 1; }));
      return result;
    };
    EXPECT_EQ(chosen(2ms), 1);
    auto writer = Kind::spawn([&client] {
      Kind::sleep_for(2ms);
      client.write_all("x");
    });
    EXPECT_EQ(chosen(10s), 0);
    writer.join();
  });
}

KIND_TEST(SelectIo, IsClosedWhileItWaits) {
  this->run([] {
    connection both = make_connection();
    auto closer = Kind::spawn([&] { both.server.close(); });
    EXPECT_EQ(select(on_readable(both.server, [] {}), on_timeout(1min, [] {})), 0u);
    closer.join();
  });
}

KIND_TEST(SelectIo, WaitsForConnectionsAndForeignDescriptors) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    const int counter = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    {
      readiness counted(counter);
      int accepted = 0;
      int events = 0;
      auto peer = Kind::spawn([&] {
        for (int i = 0; i < 10; ++i) {
          auto stream = tcp_stream::connect("127.0.0.1", listener.port(), io_test::generous());
          EXPECT_EQ(::eventfd_write(counter, 1), 0);
          Kind::sleep_for(100us);
        }
      });
      while (accepted < 10 || events < 10)
        select(on_readable(listener,
                           [&] {
                             listener.accept(io_test::generous());
                             ++accepted;
                           }),
               on_readable(counted,
                           [&] {
                             eventfd_t value = 0;
                             EXPECT_EQ(::eventfd_read(counter, &value), 0);
                             events += static_cast<int>(value);
                           }),
               on_timeout(1min, [] { ADD_FAILURE(); }));
      peer.join();
      EXPECT_EQ(select(on_readable(counted, [] {}), otherwise([] {})), 1u);
    }
    ::close(counter);
  });
}

// A fiber that makes only attempts, or sleeps until past times, keeps no other from its events.
KIND_TEST(SelectIo, ExpiredDeadlinesStarveNobody) {
  this->run([] {
    connection both = make_connection();
    connection never_sent = make_connection();
    // Calls `spin` until another fiber has read a byte.
    const auto spin_while_a_byte_is_read = [&](auto spin) {
      std::atomic<bool> read = false;
      auto reader = Kind::spawn([&] {
        char byte;
        EXPECT_EQ(both.server.read_some(std::span(&byte, 1), io_test::generous()), 1u);
        read = true;
      });
      Kind::sleep_for(1ms);  // most often it waits then, which is what can starve
      both.client.write_all("x", io_test::generous());
      while (!read)
        spin();
      reader.join();
    };
    spin_while_a_byte_is_read([&] {
      char byte;
      std::error_code late;
      never_sent.server.read_some(std::span(&byte, 1), late, io_test::steady::now());
      EXPECT_EQ(late, std::errc::timed_out);
    });
    spin_while_a_byte_is_read([] { Kind::sleep_for(0us); });
  });
}

KIND_TEST(SelectIo, EndsByAStop) {
  this->run([] {
    connection both = make_connection();
    std::stop_source stop;
    auto stopper = Kind::spawn([&] { stop.request_stop(); });
    {
      const stop_guard guard(stop.get_token());
      EXPECT_THROW(select(on_readable(both.server, [] {})), cancelled);
    }
    stopper.join();
    both.client.write_all("text", io_test::generous());
    char buffer[10];
    EXPECT_EQ(both.server.read_some(buffer, io_test::generous()), 4u);
  });
}

}  // namespace
}  // namespace sennit
