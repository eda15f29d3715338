// I/O that ends because a stop was requested: of fibers of both runtimes.
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "pool_support.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/offload.hpp"
#include "sennit/readiness.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/stop_guard.hpp"
#include "support.hpp"
#include "unit/sync/stop_support.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using io_test::connection;
using io_test::door;
using io_test::make_connection;
using io_test::pool_of;

// Runs a function in a fiber of a runtime of that kind.
void in_fiber_of(std::type_identity<runtime>, const std::function<void()>& function) {
  runtime rt({.workers = 2});
  rt.run(function);
}
void in_fiber_of(std::type_identity<local::runtime>, const std::function<void()>& function) {
  local::runtime rt;
  rt.run(function);
}

// A thread that requests a stop as soon as something has begun.
std::jthread stops_when(
    const std::atomic<bool>& begun, std::stop_source& stop, std::function<void()> then = [] {}) {
  return std::jthread([&begun, &stop, then = std::move(then)] {
    while (!begun)
      std::this_thread::yield();
    stop.request_stop();
    then();
  });
}

template <class Runtime>
class StopOfIo : public testing::Test {
protected:
  using scope_type = std::conditional_t<std::is_same_v<Runtime, runtime>, scope, local::scope>;
  static void yield() {
    if (std::is_same_v<Runtime, runtime>)
      this_fiber::yield();
    else
      local::this_fiber::yield();
  }
  // Calls what would block for good. Another thread requests a stop meanwhile, and then a fiber of the
  // caller's scope fails meanwhile.
  template <class Wait>
  static void expect_cancelled(Wait wait) {
    std::stop_source stop;
    std::atomic<bool> begun = false;
    const std::jthread stopper = stops_when(begun, stop);
    const stop_guard guard(stop.get_token());
    begun = true;
    EXPECT_THROW(wait(), cancelled);
    EXPECT_THROW(wait(), cancelled);
    const stop_shield from_the_guard;
    be_ended_by_failure<scope_type>(wait, yield);
  }
  static void run(const std::function<void()>& function) {
    in_fiber_of(std::type_identity<Runtime>(), function);
  }
};

using both_kinds = testing::Types<runtime, local::runtime>;
struct kind_names {
  template <class Runtime>
  static std::string GetName(int) {
    return std::is_same_v<Runtime, runtime> ? "Parallel" : "Local";
  }
};
TYPED_TEST_SUITE(StopOfIo, both_kinds, kind_names);

// A short read has taken all that was there, and the next one waits without another look at the socket.
TYPED_TEST(StopOfIo, LeavesAReadWhoseBytesHaveArrived) {
  bool ended_by_itself = false;
  this->run([&] {
    connection both = make_connection();
    std::stop_source stop;
    stop.request_stop();
    char buffer[10];
    for (const char* text : {"a", "bc", "def"}) {
      const std::size_t size = std::string_view(text).size();
      both.client.write_all(std::string_view(text), io_test::generous());
      const stop_guard guard(stop.get_token());
      EXPECT_EQ(both.server.read_some(buffer, io_test::generous()), size);
    }
    const stop_guard guard(stop.get_token());
    EXPECT_THROW(both.server.read_some(buffer, io_test::generous()), cancelled);
    ended_by_itself = true;
  });
  EXPECT_TRUE(ended_by_itself);
}

TYPED_TEST(StopOfIo, EndsReadsAndTheStreamGoesOn) {
  this->run([] {
    connection both = make_connection();
    for (const auto deadline : {detail::never, io_test::generous()}) {
      StopOfIo<TypeParam>::expect_cancelled([&] {
        char buffer[10];
        std::error_code error;
        both.server.read_some(buffer, error, deadline);
      });
      both.client.write_all("text", io_test::generous());
      char buffer[10];
      EXPECT_EQ(both.server.read_some(buffer, io_test::generous()), 4u);
    }
  });
}

TYPED_TEST(StopOfIo, EndsWritesAccepts) {
  this->run([] {
    connection both = make_connection();
    io_test::shrink_buffers(both.client);
    StopOfIo<TypeParam>::expect_cancelled(
        [&] { both.client.write_all(io_test::pattern(1 << 20), detail::never); });
    tcp_listener listener("127.0.0.1", 0);
    StopOfIo<TypeParam>::expect_cancelled([&] { listener.accept(); });
    EXPECT_NO_THROW(io_test::connect_to(listener));
  });
}

TYPED_TEST(StopOfIo, EndsConnects) {
  this->run([] {
    const io_test::silent_listener silent;
    StopOfIo<TypeParam>::expect_cancelled([&] { tcp_stream::connect("127.0.0.1", silent.listener.port()); });
  });
}

TYPED_TEST(StopOfIo, EndsReadinessAndSignals) {
  this->run([] {
    const int never_ready = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    {
      readiness wanted(never_ready);
      StopOfIo<TypeParam>::expect_cancelled([&] { wanted.wait_readable(); });
      EXPECT_NO_THROW(wanted.wait_writable());
    }
    ::close(never_ready);
    signal_set never_sent{SIGUSR2};
    StopOfIo<TypeParam>::expect_cancelled([&] { never_sent.wait(); });
  });
}

// A call that has begun is waited for, and then what it returned is lost; one that has not is withdrawn.
TYPED_TEST(StopOfIo, EndsOffloadedCallsAsFarAsTheyMayEnd) {
  this->run([] {
    const pool_of one(1);
    door end;
    std::atomic<bool> returned = false;
    std::atomic<bool> called = false;
    std::stop_source stop;
    std::atomic<bool> begun = false;
    const std::jthread stopper = stops_when(begun, stop, [&] {
      std::this_thread::sleep_for(2ms);
      end.open();
    });
    const stop_guard guard(stop.get_token());
    EXPECT_THROW(offload([&] {
                   begun = true;
                   end.pass();
                   returned = true;
                 }),
                 cancelled);
    EXPECT_TRUE(returned);
    door free;
    std::atomic<bool> taken = false;
    const std::jthread busy([&] {
      runtime other({.workers = 1});
      other.run([&] {
        offload([&] {
          taken = true;
          free.pass();
        });
      });
    });
    while (!taken)
      std::this_thread::yield();
    EXPECT_THROW(offload([&] { called = true; }), cancelled);
    EXPECT_FALSE(called);
    free.open();
  });
}

// It may use the variables of its caller, which fails only then.
TYPED_TEST(StopOfIo, AnOffloadedCallReturnsBeforeAFailingFiberEndsTheWait) {
  this->run([] {
    using test = StopOfIo<TypeParam>;
    door end;
    std::atomic<bool> begun = false;
    std::string used;
    typename test::scope_type scope;
    scope.spawn([&] {
      while (!begun)
        test::yield();
      throw failure();
    });
    const std::jthread opens([&, failed = scope.get_token()] {
      while (!failed.stop_requested())
        std::this_thread::yield();
      end.open();
    });
    EXPECT_THROW(offload([&] {
                   begun = true;
                   end.pass();
                   used = "by the call";
                 }),
                 failure);
    EXPECT_EQ(used, "by the call");
    EXPECT_THROW(scope.join(), failure);
  });
}

// One direction of a relay fails: the other one ends, too, and both connections are closed.
TYPED_TEST(StopOfIo, ARelayEndsWhenOneOfItsConnectionsIsReset) {
  this->run([] {
    using test = StopOfIo<TypeParam>;
    for (const bool owner_fails : {false, true}) {
      connection left = make_connection();
      connection right = make_connection();
      std::error_code error;
      const auto pump = [](tcp_stream& from, tcp_stream& to) {
        char bytes[1024];
        while (const std::size_t size = from.read_some(bytes))
          to.write_all(std::string_view(bytes, size));
        to.shutdown_write();
      };
      const auto relay = [&](tcp_stream client, tcp_stream server) {
        try {
          typename test::scope_type both;
          both.spawn([&] { pump(client, server); });
          pump(server, client);
          both.join();
        } catch (const std::system_error& thrown) {
          error = thrown.code();
        }
      };
      typename test::scope_type relays;
      relays.spawn([&] { relay(std::move(left.server), std::move(right.server)); });
      left.client.write_all("request");
      char bytes[16];
      EXPECT_EQ(right.client.read_some(bytes, io_test::generous()), 7u);
      io_test::reset(owner_fails ? right.client : left.client);
      relays.join();
      EXPECT_EQ(error, std::errc::connection_reset);
      EXPECT_EQ((owner_fails ? left : right).client.read_some(bytes, io_test::generous()), 0u);
    }
  });
}

}  // namespace
}  // namespace sennit
