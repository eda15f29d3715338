// A stream gives its descriptor back, still open.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/readiness.hpp"
#include "sennit/select_io.hpp"
#include "sennit/tcp_stream.hpp"
#include "sennit/wait_group.hpp"
#include "support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using io_test::generous;
using io_test::make_connection;
using io_test::steady;

template <class Kind>
class Release : public kind_test<Kind> {};

KIND_TEST(Release, GivesBackADescriptorThatNobodyWatches) {
  this->run([] {
    EXPECT_EQ(tcp_stream().release(), -1);
    auto [client, server] = make_connection();
    char buffer[8];
    std::error_code error;
    server.read_some(buffer, error, steady::now() + 1ms);  // is watched from now on
    const int descriptor = server.native_handle();
    EXPECT_EQ(server.release(), descriptor);
    EXPECT_FALSE(server.is_open());
    EXPECT_EQ(server.native_handle(), -1);
    EXPECT_EQ(server.release(), -1);
    server.write_all("x", error, generous());
    EXPECT_EQ(error, std::errc::operation_canceled);
    {
      readiness ready(descriptor);
      auto writer = Kind::spawn([&to = client] { to.write_all("one", generous()); });
      ready.wait_readable(generous());
      EXPECT_EQ(::recv(descriptor, buffer, sizeof buffer, 0), 3);
      writer.join();
    }
    tcp_stream again = tcp_stream::adopt(descriptor);
    auto writer = Kind::spawn([&to = client] {
      Kind::yield();
      to.write_all("two", generous());
    });
    EXPECT_EQ(again.read_some(buffer, generous()), 3u);
    writer.join();
  });
}

KIND_TEST(Release, CancelsTheOperationsOfOthers) {
  this->run([] {
    auto [client, server] = make_connection();
    io_test::shrink_buffers(server);
    const std::string all(1 << 20, 'x');
    char buffer[8];
    std::error_code read_error;
    std::error_code write_error;
    std::size_t written = 0;
    io_result stackless;
    auto writer = start<Kind>([&, &s = server] { written = s.write_all(all, write_error, generous()); });
    auto reader = start<Kind>([&, &s = server] { s.read_some(buffer, read_error, generous()); });
    const int descriptor = server.release();
    EXPECT_GE(descriptor, 0);
    reader.join();
    writer.join();
    EXPECT_EQ(read_error, std::errc::operation_canceled);
    EXPECT_EQ(write_error, std::errc::operation_canceled);
    tcp_stream again = tcp_stream::adopt(descriptor);
    reader = start<Kind>(
        [&, &s = again] { return become(s.reading_some(buffer), [&](io_result got) { stackless = got; }); });
    EXPECT_EQ(again.release(), descriptor);
    reader.join();
    EXPECT_EQ(stackless.error, std::errc::operation_canceled);
    const ssize_t more = ::send(descriptor, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);  // -1: it is still full
    ::close(descriptor);
    EXPECT_EQ(io_test::read_to_end(client).size(), written + (more > 0));
  });
}

// A case of a select that was not chosen does not use the descriptor any more.
KIND_TEST(Release, IsPossibleInTheFunctionOfAnyCase) {
  this->run([] {
    for (const bool stackless : {false, true})
      for (const bool readable : {false, true}) {
        auto [client, server] = make_connection();
        int descriptor = -1;
        const auto released = [&descriptor, &from = server] { descriptor = from.release(); };
        const auto at = readable ? generous() : steady::now() + 1ms;
        if (readable)
          client.write_all("x", generous());
        if (stackless)
          Kind::spawn([&, &s = server] {
            return become(selecting(on_readable(s, released), on_timeout(at, released)), [](std::size_t) {});
          }).join();
        else
          EXPECT_EQ(select(on_readable(server, released), on_timeout(at, released)), readable ? 0u : 1u);
        EXPECT_GE(descriptor, 0);
        ::close(descriptor);
      }
  });
}

// The caller closes the descriptor at once, and its number is used for another socket: a reader of the stream
// never reads from that.
KIND_TEST(Release, WaitsForThoseWhoUseTheDescriptor) {
  std::atomic<int> wrong = 0;
  this->run_all(3, [&](int) {
    for (int i = 0; i < 40; ++i) {
      int ends[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      tcp_stream stream = tcp_stream::adopt(ends[0]);
      typename Kind::wait_group begun(1);
      auto reader = Kind::spawn([&] {
        begun.done();
        std::error_code error;
        do {
          char got[16];
          const std::size_t size = stream.read_some(got, error, generous());
          for (std::size_t k = 0; k < size; ++k)
            wrong += got[k] != 'a';
        } while (!error);
      });
      begun.wait();
      for (int k = 0; k < i % 4; ++k)
        EXPECT_EQ(::send(ends[1], "aaaa", 4, MSG_NOSIGNAL), 4);
      const int released = stream.release();
      EXPECT_EQ(released, ends[0]);
      ::close(released);
      ::close(ends[1]);
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
      EXPECT_EQ(::send(ends[1], "bbbb", 4, MSG_NOSIGNAL), 4);
      reader.join();
      ::close(ends[0]);
      ::close(ends[1]);
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace sennit
