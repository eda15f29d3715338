// Transfers whose completion is an upcall.
#include "sennit/async_io.hpp"

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sennit/local/upcall_pool.hpp"
#include "sennit/upcall_pool.hpp"
#include "support.hpp"
#include "support/child.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using io_test::connection;
using io_test::generous;
using io_test::make_connection;

template <class Kind>
class AsyncIo : public kind_test<Kind> {
public:
  using events =
      std::conditional_t<std::is_same_v<Kind, local_kind>, local::upcall_pool, sennit::upcall_pool>;
};

struct completion {
  io_result result;
  std::atomic<bool> done = false;
  auto handler() {
    return [this](io_result got) {
      result = got;
      done = true;
    };
  }
  template <class Kind>
  void wait() const {
    while (!done)
      Kind::yield();
  }
};

KIND_TEST(AsyncIo, ReadsAndWritesBesideTheFiber) {
  this->run([] {
    typename AsyncIo<Kind>::events pool;
    constexpr int count = 20;
    std::vector<connection> all(count);
    std::vector<completion> read(count), written(count);
    std::vector<std::string> text(count, std::string(64, 0));
    for (int i = 0; i < count; ++i)
      all[i] = make_connection();
    // More than the pool has fibers.
    for (int i = 0; i < count; ++i)
      EXPECT_TRUE(async_write_all(pool, all[i].client, std::string_view("hello").substr(0, 1 + i % 5),
                                  written[i].handler()));
    for (int i = 0; i < count; ++i)
      EXPECT_TRUE(async_read_some(pool, all[i].server, text[i], read[i].handler()));
    for (int i = 0; i < count; ++i) {
      written[i].template wait<Kind>();
      read[i].template wait<Kind>();
      EXPECT_EQ(text[i].substr(0, read[i].result.size), std::string_view("hello").substr(0, 1 + i % 5));
      EXPECT_FALSE(read[i].result.error);
      EXPECT_FALSE(written[i].result.error);
    }
  });
}

KIND_TEST(AsyncIo, HasNoStackWhileItWaits) {
  this->run([] {
    auto [client, server] = make_connection();
    typename AsyncIo<Kind>::events pool({.fibers = 2});
    completion read;
    char buffer[16];
    EXPECT_TRUE(async_read_some(pool, server, buffer, read.handler()));
    until_stackless<Kind>(2);
    EXPECT_FALSE(read.done);
    client.write_all("x", generous());
    read.wait<Kind>();
    EXPECT_EQ(read.result.size, 1u);
  });
}

// Whether or not one of the pool's fibers has begun to read by then.
KIND_TEST(AsyncIo, SaysThatTheStreamWasClosed) {
  for (const bool begun : {false, true})
    this->run([begun] {
      auto [client, server] = make_connection();
      typename AsyncIo<Kind>::events pool({.fibers = 1});
      completion read;
      char buffer[16];
      EXPECT_TRUE(async_read_some(pool, server, buffer, read.handler()));
      // Stackless it waits for what is posted, too: long enough for it to read, mostly.
      for (int i = 0; begun && i < 100; ++i)
        until_stackless<Kind>(1);
      server.close();
      read.wait<Kind>();
      EXPECT_EQ(read.result.error, std::errc::operation_canceled);
      completion late;
      EXPECT_TRUE(async_read_some(pool, server, buffer, late.handler()));
      late.wait<Kind>();
      EXPECT_EQ(late.result.error, std::errc::operation_canceled);
    });
}

KIND_TEST(AsyncIo, SaysThatTheStreamIsNoLongerWrittenTo) {
  for (const bool begun : {false, true})
    this->run([begun] {
      auto [client, server] = make_connection();
      io_test::shrink_buffers(server);
      const std::string much = io_test::pattern(4 << 20);  // more than they hold
      typename AsyncIo<Kind>::events pool({.fibers = 1});
      completion written;
      EXPECT_TRUE(async_write_all(pool, server, much, written.handler()));
      if (char first = 0; begun)
        client.read_some(std::span(&first, 1), generous());
      server.close();
      written.wait<Kind>();
      EXPECT_EQ(written.result.error, std::errc::operation_canceled);
      EXPECT_LT(written.result.size, much.size());
      completion late;
      EXPECT_TRUE(async_write_all(pool, server, "x", late.handler()));
      late.wait<Kind>();
      EXPECT_EQ(late.result.error, std::errc::operation_canceled);
    });
}

// Without a pool argument the runtime's is used: one for all callers, and it ends with the runtime.
KIND_TEST(AsyncIo, HasAPoolOfTheRuntime) {
  constexpr int count = 20;
  std::atomic<int> unfinished = 0;
  for (int round = 0; round < 2; ++round) {
    Kind its;
    its.run([&] {
      std::vector<connection> all(count);
      std::vector<completion> read(count), written(count);
      std::vector<std::string> text(count, std::string(64, 0));
      std::vector<const void*> pools(count);
      std::vector<typename Kind::fiber> fibers;
      for (int i = 0; i < count; ++i) {
        all[i] = make_connection();
        fibers.push_back(Kind::spawn([&, i] {
          EXPECT_TRUE(async_read_some(all[i].server, text[i], read[i].handler()));
          EXPECT_TRUE(async_write_all(all[i].client, "hello", written[i].handler()));
          detail::with_default_upcall_pool([&](auto& pool) {
            pools[i] = &pool;
            return true;
          });
        }));
      }
      for (auto& each : fibers)
        each.join();
      for (int i = 0; i < count; ++i) {
        read[i].template wait<Kind>();
        written[i].template wait<Kind>();
        EXPECT_EQ(text[i].substr(0, read[i].result.size), "hello");
        EXPECT_FALSE(written[i].result.error);
        EXPECT_EQ(pools[i], pools[0]);
      }
      until_stackless<Kind>(detail::default_upcalls.fibers);
    });
  }
  // Transfers that are running when it ends.
  auto both = std::make_unique<connection>();
  char buffer[16];
  {
    Kind its;
    its.run([&] {
      *both = make_connection();
      EXPECT_TRUE(async_read_some(both->server, buffer, [&unfinished](io_result) { ++unfinished; }));
      until_stackless<Kind>(detail::default_upcalls.fibers);
    });
  }
  EXPECT_EQ(unfinished, 0);
}

TEST(AsyncIoOfNobody, IsBegunByFibers) {
  const auto result = support::in_child([] {
    const tcp_stream closed;
    static_cast<void>(async_write_all(closed, "hello", [](io_result) {}));
  });
  EXPECT_TRUE(result.says("an upcall")) << result;
}

}  // namespace
}  // namespace sennit
