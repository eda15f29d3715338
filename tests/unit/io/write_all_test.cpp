// A write that fails, is stopped or is too late reports the bytes that it has written.
#include "sennit/tcp_stream.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>

#include "sennit/become.hpp"
#include "sennit/file.hpp"
#include "sennit/stop_guard.hpp"
#include "sennit/write_error.hpp"
#include "support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using io_test::generous;
using io_test::make_connection;
using io_test::steady;

enum class ending { deadline, close, stop };
enum class form { error_code, throws, stackless };

struct outcome {
  std::size_t written = 0;
  std::error_code error;
  bool is_cancelled = false;  // by the exception
};

void write(tcp_stream& to, const std::string& all, form how, steady::time_point deadline, outcome& result) {
  try {
    if (how == form::error_code)
      result.written = to.write_all(all, result.error, deadline);
    else
      to.write_all(all, deadline);
  } catch (const write_error& error) {
    result.written = error.written();
    result.error = error.code();
  } catch (const cancelled&) {
    result.is_cancelled = true;
  }
}

template <class Kind>
class WriteAll : public kind_test<Kind> {
protected:
  static outcome end_by(ending why, form how, std::size_t& arrived) {
    auto [client, server] = make_connection();
    io_test::shrink_buffers(server);
    const std::string all(1 << 20, 'x');  // more than the buffers hold
    const auto deadline = why == ending::deadline ? steady::now() + 1ms : generous();
    std::stop_source stop;
    outcome result;
    typename Kind::fiber writer;
    if (how == form::stackless)
      writer = start<Kind>([&, &to = server] {
        return become(detail::timed_wait(to.writing_all(all), deadline),
                      [&result](io_result put) { result = {put.size, put.error}; });
      });
    else
      writer = start<Kind>([&, &to = server] {
        const stop_guard guard(stop.get_token());
        write(to, all, how, deadline, result);
        char unused;
        if (why == ending::stop && how == form::error_code) {  // what it did not throw
          EXPECT_THROW(to.read_some(std::span(&unused, 1)), cancelled);
        }
      });
    if (why != ending::deadline) {  // another worker may run us before the writer has begun
      for (int waiting = 0; waiting == 0; Kind::yield())
        EXPECT_EQ(::ioctl(client.native_handle(), FIONREAD, &waiting), 0);
    }
    if (why == ending::close)
      server.close();
    if (why == ending::stop)
      stop.request_stop();
    writer.join();
    server.close();
    arrived = io_test::read_to_end(client).size();
    return result;
  }
};

KIND_TEST(WriteAll, ReportsTheBytesWritten) {
  this->run([] {
    for (const ending why : {ending::deadline, ending::close, ending::stop})
      for (const form how : {form::error_code, form::throws, form::stackless}) {
        if (why == ending::stop && how == form::stackless)
          continue;  // a stop_guard needs a stack
        SCOPED_TRACE(testing::Message() << static_cast<int>(why) << ' ' << static_cast<int>(how));
        std::size_t arrived = 0;
        const outcome result = WriteAll<Kind>::end_by(why, how, arrived);
        EXPECT_GT(arrived, 0u);
        EXPECT_EQ(result.is_cancelled, why == ending::stop && how == form::throws);
        if (result.is_cancelled)
          continue;
        EXPECT_EQ(result.written, arrived);
        EXPECT_EQ(result.error,
                  why == ending::deadline ? std::errc::timed_out : std::errc::operation_canceled);
      }
  });
}

// The error of a scope's fiber ends the write of its owner, and is thrown by the owner's next wait.
KIND_TEST(WriteAll, ReportsTheBytesWrittenWhereAScopeFails) {
  this->run([] {
    auto [client, server] = make_connection();
    io_test::shrink_buffers(server);
    const std::string all(1 << 20, 'x');
    std::error_code error;
    std::size_t written = 0;
    const auto fails = [&, &to = server] {
      typename Kind::scope scope;
      scope.spawn([] { throw std::runtime_error("failed"); });
      written = to.write_all(all, error, generous());
      char unused;
      to.read_some(std::span(&unused, 1), generous());
    };
    EXPECT_THROW(fails(), std::runtime_error);
    EXPECT_EQ(error, std::errc::operation_canceled);
    server.close();
    EXPECT_EQ(io_test::read_to_end(client).size(), written);
  });
}

// The system call cannot be interrupted: a stop waits for it, and its bytes are reported.
KIND_TEST(WriteAll, ReportsTheBytesWrittenToAFile) {
  this->run([] {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    file to = file::open("/proc/self/fd/" + std::to_string(ends[1]), O_WRONLY);
    ::close(ends[1]);
    const std::string all(1 << 18, 'x');  // more than a pipe holds
    std::stop_source stop;
    std::size_t arrived = 0;
    std::jthread peer([&] {
      for (int waiting = 0; waiting == 0; std::this_thread::yield())
        ASSERT_EQ(::ioctl(ends[0], FIONREAD, &waiting), 0);
      stop.request_stop();
      char buffer[4096];
      for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        arrived += static_cast<std::size_t>(got);
    });
    {
      const stop_guard guard(stop.get_token());
      std::error_code error;
      EXPECT_EQ(to.write_all(all, error), all.size());
      EXPECT_EQ(error, std::errc::operation_canceled);
    }
    to.close();
    peer.join();
    EXPECT_EQ(arrived, all.size());
    ::close(ends[0]);
    try {
      to.write_all("x");
      ADD_FAILURE();
    } catch (const write_error& error) {
      EXPECT_EQ(error.code(), std::errc::bad_file_descriptor);
      EXPECT_EQ(error.written(), 0u);
    }
  });
}

}  // namespace
}  // namespace sennit
