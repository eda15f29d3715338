// What I/O has consumed when it was cancelled or timed out: rows of docs/explanation/waits.md. (look_up:
// resolver_test.cpp)
#include "support/consumed.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "pool_support.hpp"
#include "sennit/offload.hpp"
#include "sennit/readiness.hpp"
#include "sennit/signal_set.hpp"
#include "support.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using io_test::connection;
using io_test::generous;

constexpr auto long_ago = deadline_type{};

// Returns false if the error is a time-out.
bool in_time(const std::error_code& error) {
  EXPECT_TRUE(!error || error == std::errc::timed_out) << error;
  return !error;
}

template <class Kind>
std::vector<named_row<Kind>> stream_rows() {
  using row = consumed_row<Kind>;
  using handle = typename Kind::fiber*;
  std::vector<named_row<Kind>> all;
  const auto add = [&all](const char* name, std::function<row()> make) {
    all.push_back({name, takes::deadline, waiters::fibers, std::move(make)});
  };
  add("read_some", [] {
    auto both = std::make_shared<connection>(io_test::make_connection());
    return row{[=](deadline_type d) {
                 char buffer[10];
                 std::error_code error;
                 const std::size_t got = both->server.read_some(buffer, error, d);
                 EXPECT_EQ(got, error ? 0u : 4u);
                 return in_time(error);
               },
               [=](handle) { both->client.write_all("text"); },
               [=](wait_end end) {
                 char buffer[10];
                 std::error_code error;
                 const std::size_t left =
                     both->server.read_some(buffer, error, end == wait_end::served ? long_ago : generous());
                 EXPECT_EQ(left, end == wait_end::served ? 0u : 4u);
               }};
  });

  // A stream that takes no more. `written`: all bytes that were reported.
  struct full_stream {
    connection both = io_test::make_connection();
    std::size_t written = 0;
    std::string received;
    full_stream() {
      io_test::shrink_buffers(both.client);
      io_test::shrink_buffers(both.server);
      const std::string some = io_test::pattern(64 << 10);
      for (std::error_code error; !error;)
        written += both.server.write_some(some, error, std::chrono::steady_clock::now() + 1ms);
    }
    // Reads what has come.
    void drain() {
      char buffer[32 << 10];
      for (std::error_code error; !error;)
        received.append(buffer, both.client.read_some(buffer, error, long_ago));
    }
    void read_to_end() {
      both.server.shutdown_write();
      received += io_test::read_to_end(both.client);
    }
  };
  add("write_some", [] {
    auto s = std::make_shared<full_stream>();
    return row{[=](deadline_type d) {
                 std::error_code error;
                 s->written += s->both.server.write_some("text", error, d);
                 return in_time(error);
               },
               [=](handle) { s->drain(); },
               [=](wait_end) {
                 s->read_to_end();
                 EXPECT_EQ(s->received.size(), s->written);
               }};
  });
  add("write_all", [] {
    auto s = std::make_shared<full_stream>();
    const std::string data = io_test::pattern(100 << 10);
    return row{[=](deadline_type d) {
                 std::error_code error;
                 const std::size_t put = s->both.server.write_all(data, error, d);
                 EXPECT_TRUE(error || put == data.size());
                 s->written += put;
                 if (error == std::errc::operation_canceled)
                   throw cancelled();  // as the next wait would
                 return in_time(error);
               },
               [=](handle) { s->drain(); },
               [=](wait_end) {
                 s->read_to_end();
                 EXPECT_EQ(s->received.size(), s->written);
               }};
  });
  add("accept", [] {
    struct scene {
      tcp_listener listener{"127.0.0.1", 0};
      tcp_stream client;
    };
    auto s = std::make_shared<scene>();
    return row{[=](deadline_type d) {
                 std::error_code error;
                 const tcp_stream accepted = s->listener.accept(error, d);
                 EXPECT_EQ(accepted.is_open(), !error);
                 return in_time(error);
               },
               [=](handle) { s->client = tcp_stream::connect("127.0.0.1", s->listener.port()); },
               [=](wait_end end) {
                 std::error_code error;
                 const tcp_stream left =
                     s->listener.accept(error, end == wait_end::served ? long_ago : generous());
                 EXPECT_EQ(left.is_open(), end != wait_end::served);
               }};
  });
  return all;
}

template <class Kind>
std::vector<named_row<Kind>> other_rows() {
  using row = consumed_row<Kind>;
  using handle = typename Kind::fiber*;
  std::vector<named_row<Kind>> all;
  const auto add = [&all](const char* name, std::function<row()> make, takes time = takes::deadline) {
    all.push_back({name, time, waiters::fibers, std::move(make)});
  };
  add("readiness", [] {
    struct scene {
      int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
      std::optional<readiness> ready{descriptor};
      ~scene() {
        ready.reset();
        ::close(descriptor);
      }
    };
    auto s = std::make_shared<scene>();
    return row{[=](deadline_type d) {
                 std::error_code error;
                 s->ready->wait_readable(error, d);
                 return in_time(error);
               },
               [=](handle) { EXPECT_EQ(::eventfd_write(s->descriptor, 1), 0); },
               [=](wait_end) { EXPECT_NO_THROW(s->ready->wait_readable(generous())); }};
  });
  add("signal_set wait", [] {
    auto set = std::make_shared<signal_set>(std::initializer_list<int>{SIGUSR2});
    return row{[=](deadline_type d) {
                 std::error_code error;
                 const int which = set->wait(error, d);
                 EXPECT_EQ(which, error ? 0 : SIGUSR2);
                 return in_time(error);
               },
               [=](handle) { ::raise(SIGUSR2); },
               [=](wait_end end) {
                 std::error_code error;
                 const int left = set->wait(error, end == wait_end::served ? long_ago : generous());
                 EXPECT_EQ(left, end == wait_end::served ? 0 : SIGUSR2);
               }};
  });
  // The only thread of the pool is busy.
  add(
      "offload, files: not begun",
      [] {
        struct scene {
          io_test::pool_of one{1};
          io_test::door end;
          std::atomic<bool> busy{false};
          bool called = false;
          typename Kind::fiber other;
        };
        auto s = std::make_shared<scene>();
        s->other = Kind::spawn([s] {
          offload([s] {
            s->busy = true;
            s->end.pass();
          });
        });
        while (!s->busy)
          Kind::yield();
        return row{[=](deadline_type) {
                     offload([s] { s->called = true; });
                     return true;
                   },
                   [=](handle) { s->end.open(); },
                   [=](wait_end end) {
                     s->other.join();
                     // Calls that have begun are waited for, and then what they returned is lost.
                     if (end == wait_end::served) {
                       EXPECT_TRUE(s->called);
                     }
                   }};
      },
      takes::nothing);
  return all;
}

template <class Kind>
class ConsumedByIo : public kind_test<Kind> {
protected:
  void check(const std::vector<named_row<Kind>>& rows) {
    for (const named_row<Kind>& each : rows)
      this->run([&] { check_consumed(each, 6); });
  }
};

KIND_TEST(ConsumedByIo, OfStreams) {
  this->check(stream_rows<Kind>());
}
KIND_TEST(ConsumedByIo, OfOtherThings) {
  this->check(other_rows<Kind>());
}

// A connection to a listener that takes no more.
KIND_TEST(ConsumedByIo, OfConnects) {
  this->run([] {
    const io_test::silent_listener silent;
    const auto descriptors = io_test::open_descriptors();
    const named_row<Kind> connect{
        "connect", takes::deadline, waiters::fibers, [&] {
          return consumed_row<Kind>{
              [&](deadline_type d) {
                std::error_code failed;
                EXPECT_FALSE(tcp_stream::connect("127.0.0.1", silent.listener.port(), failed, d).is_open());
                return in_time(failed);
              },
              [](typename Kind::fiber*) {},
              [&](wait_end end) {
                EXPECT_NE(end, wait_end::served);
                EXPECT_EQ(io_test::open_descriptors(), descriptors);
              }};
        }};
    check_consumed(connect, 2);
  });
}

// A call that has begun is waited for, and what it returned is lost.
KIND_TEST(ConsumedByIo, OfOffloadedCallsThatHaveBegun) {
  this->run([] {
    io_test::door end;
    std::atomic<bool> begun{false};
    bool returned = false;
    consumed_row<Kind> row{[&](deadline_type) {
                             offload([&] {
                               begun = true;
                               end.pass();
                               returned = true;
                             });
                             return true;
                           },
                           [](typename Kind::fiber*) {}, [](wait_end) {}};
    const char* const name = "offload, files: begun";
    SCOPED_TRACE(name);
    consumed_waiter<Kind> waiter(row, detail::never);
    auto fiber = Kind::spawn(std::ref(waiter));
    while (!begun)
      Kind::yield();
    waiter.request_stop();
    end.open();
    waiter.until_ended();
    EXPECT_EQ(waiter.end(), wait_end::cancelled);
    EXPECT_TRUE(returned);
    waiter.give(&fiber);
    fiber.join();
  });
}

}  // namespace
}  // namespace sennit
