// Asynchronous accepts, connects, reads and writes of files. (Transfers of streams: async_io_test.cpp.)
#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "pool_support.hpp"
#include "sennit/async_io.hpp"
#include "sennit/become.hpp"
#include "sennit/local/upcall_pool.hpp"
#include "sennit/look_up.hpp"
#include "sennit/upcall_pool.hpp"
#include "support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using io_test::door;
using io_test::generous;
using io_test::make_connection;
using io_test::open_descriptors;
using io_test::pool_of;
using io_test::steady;
using namespace std::chrono_literals;

template <class Kind>
class AsyncOperations : public kind_test<Kind> {
public:
  using events =
      std::conditional_t<std::is_same_v<Kind, local_kind>, local::upcall_pool, sennit::upcall_pool>;
};

template <class Result>
struct operation_end {
  Result result;
  std::error_code error;
  std::atomic<bool> done = false;
  template <class Kind>
  void wait() const {
    while (!done)
      Kind::sleep_for(100us);
  }
};
struct stream_end : operation_end<tcp_stream> {
  auto handler() {
    return [this](tcp_stream got, std::error_code failed) {
      result = std::move(got);
      error = failed;
      done = true;
    };
  }
};
struct file_end : operation_end<std::size_t> {
  auto handler() {
    return [this](io_result got) {
      result = got.size;
      error = got.error;
      done = true;
    };
  }
};

// A file without a name.
struct temporary_file {
  temporary_file() : path("/tmp/sennit-async-XXXXXX") {
    ::close(::mkostemp(path.data(), O_CLOEXEC));
    opened = file::open(path, O_RDWR);
    ::unlink(path.c_str());
  }
  std::string path;
  file opened;
};

template <class Kind, class Accept, class Connect>
void accept_and_connect(Accept accept, Connect connect) {
  constexpr int count = 20;
  tcp_listener listener("127.0.0.1", 0);
  std::vector<stream_end> clients(count), servers(count);
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(accept(listener, servers[i].handler()));
    EXPECT_TRUE(connect(i % 2 == 0 ? "127.0.0.1" : "localhost", listener.port(), clients[i].handler()));
    clients[i].template wait<Kind>();
    servers[i].template wait<Kind>();
    EXPECT_FALSE(clients[i].error) << clients[i].error.message();
    EXPECT_FALSE(servers[i].error) << servers[i].error.message();
    clients[i].result.write_all("hello", generous());
    char text[8];
    EXPECT_EQ(servers[i].result.read_some(text, generous()), 5u);
  }
}

KIND_TEST(AsyncOperations, AcceptAndConnectBesideTheFiber) {
  this->run([] {
    typename AsyncOperations<Kind>::events pool;
    accept_and_connect<Kind>(
        [&](auto& listener, auto handler) { return async_accept(pool, listener, handler); },
        [&](auto host, auto port, auto handler) {
          return async_connect(pool, host, port, handler, generous());
        });
  });
}

KIND_TEST(AsyncOperations, AcceptAndConnectByTheRuntimesPool) {
  this->run([] {
    accept_and_connect<Kind>(
        [](auto& listener, auto handler) { return async_accept(listener, handler); },
        [](auto host, auto port, auto handler) { return async_connect(host, port, handler); });
  });
}

KIND_TEST(AsyncOperations, AcceptHasNoStackWhileItWaits) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    typename AsyncOperations<Kind>::events pool({.fibers = 2});
    stream_end accepted;
    EXPECT_TRUE(async_accept(pool, listener, accepted.handler()));
    until_stackless<Kind>(2);
    EXPECT_FALSE(accepted.done);
    const auto client = tcp_stream::connect("127.0.0.1", listener.port(), generous());
    accepted.template wait<Kind>();
    EXPECT_TRUE(accepted.result.is_open());
  });
}

// Whether or not one of the pool's fibers has begun to accept by then.
KIND_TEST(AsyncOperations, AcceptReportsThatTheListenerWasClosed) {
  for (const bool begun : {false, true})
    this->run([begun] {
      tcp_listener listener("127.0.0.1", 0);
      typename AsyncOperations<Kind>::events pool({.fibers = 1});
      stream_end accepted, late;
      EXPECT_TRUE(async_accept(pool, listener, accepted.handler()));
      for (int i = 0; begun && i < 100; ++i)
        until_stackless<Kind>(1);
      listener.close();
      accepted.template wait<Kind>();
      EXPECT_EQ(accepted.error, std::errc::operation_canceled);
      EXPECT_FALSE(accepted.result.is_open());
      EXPECT_TRUE(async_accept(pool, listener, late.handler()));
      late.template wait<Kind>();
      EXPECT_EQ(late.error, std::errc::operation_canceled);
    });
}

KIND_TEST(AsyncOperations, AcceptReportsASecondAcceptAndAListenerThatWasNeverOpen) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    const tcp_listener never_open;
    typename AsyncOperations<Kind>::events pool({.fibers = 3});
    stream_end first, second, third;
    EXPECT_TRUE(async_accept(pool, never_open, third.handler()));
    third.template wait<Kind>();
    EXPECT_EQ(third.error, std::errc::bad_file_descriptor);
    std::error_code error;
    for (first.done = true; error != std::errc::device_or_resource_busy;) {  // until the first one has begun
      if (first.done.exchange(false)) {  // on another worker it can meet the accept below, and be the second
        EXPECT_TRUE(async_accept(pool, listener, first.handler()));
      }
      Kind::sleep_for(100us);
      static_cast<void>(listener.accept(error, steady::time_point::min()));
    }
    EXPECT_TRUE(async_accept(pool, listener, second.handler()));
    second.template wait<Kind>();
    EXPECT_EQ(second.error, std::errc::device_or_resource_busy);
    EXPECT_FALSE(first.done);
    listener.close();
    first.template wait<Kind>();
  });
}

KIND_TEST(AsyncOperations, ConnectReportsWhyItFailed) {
  this->run([] {
    std::uint16_t unused;
    {
      const tcp_listener listener("127.0.0.1", 0);
      unused = listener.port();
    }
    stream_end refused, unnamed, named;
    EXPECT_TRUE(async_connect("127.0.0.1", unused, refused.handler()));
    refused.template wait<Kind>();
    EXPECT_EQ(refused.error, std::errc::connection_refused);
    EXPECT_FALSE(refused.result.is_open());
    EXPECT_TRUE(async_connect("localhost", unused, named.handler()));
    named.template wait<Kind>();
    EXPECT_EQ(named.error, std::errc::connection_refused);
    EXPECT_TRUE(async_connect("", unused, unnamed.handler()));
    unnamed.template wait<Kind>();
    EXPECT_EQ(unnamed.error, std::error_code(EAI_NONAME, lookup_category()));
  });
}

KIND_TEST(AsyncOperations, ConnectHasADeadlineAndNoStack) {
  this->run([] {
    io_test::silent_listener silent;
    typename AsyncOperations<Kind>::events pool({.fibers = 2});
    stream_end late;
    EXPECT_TRUE(
        async_connect(pool, "127.0.0.1", silent.listener.port(), late.handler(), steady::now() + 50ms));
    until_stackless<Kind>(2);
    late.template wait<Kind>();
    EXPECT_EQ(late.error, std::errc::timed_out);
    EXPECT_FALSE(late.result.is_open());
  });
}

// Name look-ups wait for a thread, without a stack, and are given up at the deadline.
KIND_TEST(AsyncOperations, ConnectGivesUpALookUpAtItsDeadline) {
  this->run([] {
    stream_end late;
    EXPECT_TRUE(async_connect("localhost", 1, late.handler(), steady::time_point::min()));
    late.template wait<Kind>();
    EXPECT_TRUE(late.error == std::errc::timed_out || late.error == std::errc::connection_refused)
        << late.error.message();
  });
}

KIND_TEST(AsyncOperations, FilesAreReadAndWrittenAtOffsets) {
  this->run([] {
    typename AsyncOperations<Kind>::events pool;
    const temporary_file one;
    constexpr std::size_t count = 50;
    const std::string text = io_test::pattern(count * 1000);
    std::vector<file_end> written(count), read(count);
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_TRUE(async_write_all_at(pool, one.opened, i * 1000,
                                     std::string_view(text).substr(i * 1000, 1000), written[i].handler()));
    for (auto& each : written) {
      each.template wait<Kind>();
      EXPECT_FALSE(each.error);
      EXPECT_EQ(each.result, 1000u);
    }
    std::vector<std::string> parts(count, std::string(1000, 0));
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_TRUE(async_read_some_at(one.opened, i * 1000, parts[i], read[i].handler()));
    for (std::size_t i = 0; i < count; ++i) {
      read[i].template wait<Kind>();
      EXPECT_FALSE(read[i].error);
      EXPECT_EQ(parts[i], text.substr(i * 1000, 1000));
    }
    file_end end, far;
    EXPECT_TRUE(async_read_some_at(one.opened, text.size(), parts[0], end.handler()));
    end.template wait<Kind>();
    EXPECT_EQ(end.result, 0u);
    EXPECT_FALSE(end.error);
    EXPECT_TRUE(async_write_all_at(one.opened, ~std::uint64_t{0}, "x", far.handler()));
    far.template wait<Kind>();
    EXPECT_EQ(far.error, std::errc::file_too_large);
  });
}

KIND_TEST(AsyncOperations, FilesReportWhyTheyFailed) {
  this->run([] {
    const file never_open;
    file_end read, written;
    char byte = 0;
    EXPECT_TRUE(async_read_some_at(never_open, 0, std::span(&byte, 1), read.handler()));
    EXPECT_TRUE(async_write_all_at(never_open, 0, "x", written.handler()));
    read.template wait<Kind>();
    written.template wait<Kind>();
    EXPECT_EQ(read.error, std::errc::bad_file_descriptor);
    EXPECT_EQ(written.error, std::errc::bad_file_descriptor);
    EXPECT_EQ(written.result, 0u);
  });
}

// The only thread of the pool is busy, so that they all wait for it.
KIND_TEST(AsyncOperations, AThousandReadsOfAFileHaveNoStack) {
  const pool_of few(1);
  door opens;
  this->run([&] {
    constexpr unsigned count = 1000;
    typename AsyncOperations<Kind>::events pool({.fibers = count});
    const temporary_file one;
    std::vector<file_end> read(count);
    std::vector<char> bytes(count);
    auto busy = start<Kind>([&] { offload([&] { opens.pass(); }); });
    for (unsigned i = 0; i < count; ++i)
      EXPECT_TRUE(async_read_some_at(pool, one.opened, 0, std::span(&bytes[i], 1), read[i].handler()));
    until_stackless<Kind>(count);
    for (const auto& each : read)
      EXPECT_FALSE(each.done);
    opens.open();
    for (const auto& each : read) {
      each.template wait<Kind>();
      EXPECT_FALSE(each.error);
    }
    busy.join();
  });
}

KIND_TEST(AsyncOperations, AreNotBegunWhereThePoolIsFullOrClosed) {
  this->run([] {
    typename AsyncOperations<Kind>::events pool({.fibers = 1, .events = 1});
    tcp_listener listener("127.0.0.1", 0);
    stream_end accepted, connected;
    file_end read;
    const temporary_file one;
    char byte = 0;
    EXPECT_TRUE(async_accept(pool, listener, accepted.handler()));
    while (async_connect(pool, "127.0.0.1", listener.port(), connected.handler())) {
    }
    EXPECT_FALSE(async_read_some_at(pool, one.opened, 0, std::span(&byte, 1), read.handler()));
    EXPECT_FALSE(async_accept(pool, listener, accepted.handler()));
    listener.close();
    accepted.template wait<Kind>();
    pool.close();
    EXPECT_FALSE(async_accept(pool, listener, accepted.handler()));
    EXPECT_FALSE(async_connect(pool, "127.0.0.1", 1, connected.handler()));
  });
}

// Handlers that are never called: nothing is leaked (the sanitizer sees memory).
KIND_TEST(AsyncOperations, EndWithTheRuntime) {
  const pool_of few(1);
  door opens;
  std::optional<tcp_listener> listener(std::in_place, "127.0.0.1", 0);
  std::optional<io_test::silent_listener> silent;
  const temporary_file one;
  stream_end accepted, connected;
  std::vector<file_end> read(1100);
  std::vector<char> bytes(read.size());
  std::atomic<bool> is_busy = false;
  std::thread busy([&] {
    local::runtime its;
    its.run([&] {
      offload([&] {
        is_busy = true;
        opens.pass();
      });
    });
  });
  while (!is_busy)
    std::this_thread::yield();
  {
    Kind its;
    its.run([&] { silent.emplace(); });
  }
  const auto descriptors = open_descriptors();
  for (int round = 0; round < 2; ++round) {
    Kind its;
    its.run([&] {
      EXPECT_TRUE(async_accept(*listener, accepted.handler()));
      EXPECT_TRUE(async_connect("127.0.0.1", silent->listener.port(), connected.handler()));
      for (std::size_t i = 0; i < read.size(); ++i)  // more than the pool has fibers
        EXPECT_TRUE(async_read_some_at(one.opened, 0, std::span(&bytes[i], 1), read[i].handler()));
      EXPECT_TRUE(async_connect("127.0.0.1", silent->listener.port(), connected.handler()));
      until_stackless<Kind>(detail::default_upcalls.fibers);
    });
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  opens.open();
  busy.join();
  EXPECT_FALSE(accepted.done || connected.done);
  for (const auto& each : read)
    EXPECT_FALSE(each.done);
}

struct job_at_a_door : detail::offload_job {
  job_at_a_door(door& d, std::atomic<int>& counter) : wait_here(d), gone(counter) {}
  ~job_at_a_door() override { ++gone; }
  void call() noexcept override {
    begun = true;
    wait_here.pass();
    returned = true;
  }
  door& wait_here;
  std::atomic<int>& gone;
  std::atomic<bool> begun = false;
  std::atomic<bool> returned = false;
};

// It may use what the fiber's owner destroys after that.
KIND_TEST(AsyncOperations, ACallThatHasBegunIsWaitedForAtTheRuntimesEnd) {
  door opens;
  std::atomic<int> gone = 0;
  bool called = false;
  job_at_a_door job(opens, gone);
  std::thread opener;
  {
    Kind its;
    its.run([&] {
      Kind::spawn([&]() -> continuation {
        return become(detail::offload_wait(job), [&called](int) { called = true; });
      }).detach();
      until_stackless<Kind>(1);
      while (!job.begun)
        Kind::sleep_for(1ms);
    });
    opener = std::thread([&] {
      std::this_thread::sleep_for(20ms);
      opens.open();
    });
  }
  EXPECT_TRUE(job.returned);
  EXPECT_FALSE(called);
  opener.join();
}

KIND_TEST(AsyncOperations, ACallWithAnOwnerIsLeftToThePoolAtTheRuntimesEnd) {
  door opens;
  std::atomic<int> gone = 0;
  auto* const job = new job_at_a_door(opens, gone);
  detail::owner<detail::offload_job> owned(job);
  {
    Kind its;
    its.run([&] {
      Kind::spawn([&]() -> continuation {
        return become(detail::timed_wait(detail::offload_wait(owned), no_deadline), [](int) {});
      }).detach();
      while (!job->begun)
        Kind::sleep_for(1ms);
    });
  }
  EXPECT_FALSE(owned);
  EXPECT_EQ(gone, 0);
  opens.open();
  while (gone == 0)
    std::this_thread::yield();
}

// On a busy machine the job may not have begun by then, and is withdrawn: with more time it does.
KIND_TEST(AsyncOperations, ACallWithAnOwnerIsLeftToThePoolAtItsDeadline) {
  door opens;
  std::atomic<int> gone = 0;
  int withdrawn = 0;
  this->run([&] {
    for (auto time = 10ms;; time *= 2) {
      detail::owner<detail::offload_job> owned(new job_at_a_door(opens, gone));
      std::atomic<int> result = 1;
      Kind::spawn([&]() -> continuation {
        return become(detail::timed_wait(detail::offload_wait(owned), steady::now() + time),
                      [&result](int error) { result = error; });
      }).join();
      EXPECT_EQ(result, -ETIMEDOUT);
      if (!owned)
        break;
      ++withdrawn;
    }
  });
  EXPECT_EQ(gone, withdrawn);
  opens.open();
  while (gone == withdrawn)
    std::this_thread::yield();
}

}  // namespace
}  // namespace sennit
