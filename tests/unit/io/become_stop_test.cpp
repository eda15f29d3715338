// Deadlines and stops of fibers that wait for I/O without a stack.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using io_test::generous;
using io_test::make_connection;
using io_test::steady;
using namespace std::chrono_literals;

template <class Kind>
class BecomeIoUntil : public kind_test<Kind> {};

// Until there is something to read, or not; and then it may wait again.
KIND_TEST(BecomeIoUntil, WaitsUntilADeadline) {
  this->run([] {
    auto [client, server] = make_connection();
    struct record {
      std::string said;
      std::atomic<int> turns = 0;  // what main may look at
    };
    struct reading {
      tcp_stream from;
      record* to;
      static continuation on(reading me, bool in_time) {
        me.to->said += in_time ? "read " : "late ";
        ++me.to->turns;
        char buffer[8];
        if (in_time && me.from.read_some(buffer, generous()) == 0)
          return {};
        return until(std::move(me), in_time ? steady::now() + 1ms : generous());
      }
      static continuation until(reading me, steady::time_point deadline) {
        return become([deadline](const reading& its) { return its.from.reading_until(deadline); }, on,
                      std::move(me));
      }
    };
    record its;
    auto reader = Kind::spawn([&its, stream = std::move(server)]() mutable {
      return reading::until({std::move(stream), &its}, steady::now() + 1ms);
    });
    while (its.turns < 1)
      Kind::sleep_for(100us);
    until_stackless<Kind>(1);
    client.write_all("x", generous());
    while (its.turns < 3)
      Kind::sleep_for(100us);
    until_stackless<Kind>(1);
    client.shutdown_write();
    reader.join();
    EXPECT_EQ(its.said, "late read late read ");
  });
}

// A worker that looks late does not make late what came in time.
KIND_TEST(BecomeIoUntil, WhatCameInTimeIsNotLate) {
  this->run([] {
    for (bool written_in_time = false; !written_in_time;) {
      auto [client, server] = make_connection();
      pollfd arrives{server.native_handle(), POLLIN, 0};
      const steady::time_point deadline = steady::now() + 30ms;
      std::atomic<bool> in_time = false;
      auto reader = Kind::spawn_here([&, stream = std::move(server)]() mutable {
        return become([deadline](const tcp_stream& its) { return its.reading_until(deadline); },
                      [&](tcp_stream, bool was) { in_time = was; }, std::move(stream));
      });
      until_stackless<Kind>(1);
      client.write_all("x", generous());
      // On a busy system it may arrive later than it was written. Then this round says nothing.
      written_in_time = ::poll(&arrives, 1, 1000) == 1 && steady::now() < deadline;
      // No other worker serves a local runtime, or the only worker of a parallel one.
      std::this_thread::sleep_until(deadline + 1ms);
      reader.join();
      EXPECT_TRUE(in_time || !written_in_time);
    }
  });
}

// Until it takes no more, and not for the moment: the peer's system takes more a little later.
void fill(tcp_stream& stream) {
  io_test::shrink_buffers(stream);
  std::error_code full;
  while (!full)
    stream.write_some(io_test::pattern(1 << 16), full, steady::now() + 300ms);
}

KIND_TEST(BecomeIoUntil, WaitsToWriteUntilADeadline) {
  this->run([] {
    auto [client, server] = make_connection();
    fill(server);
    std::atomic<bool> in_time = true;
    Kind::spawn([&] {
      return become(server.writing_until(steady::now() + 1ms), [&](bool was) { in_time = was; });
    }).join();
    EXPECT_FALSE(in_time);
    auto writer = Kind::spawn(
        [&] { return become(server.writing_until(generous()), [&](bool was) { in_time = was; }); });
    until_stackless<Kind>(1);
    char buffer[4096];
    for (bool ended = false; !ended;) {
      std::error_code error;
      client.read_some(buffer, error, steady::now());
      Kind::yield();
      ended = in_time;
    }
    writer.join();
    EXPECT_TRUE(in_time);
    // One that is closed is ready: to say so.
    in_time = false;
    server.close();
    Kind::spawn([&] {
      return become(server.reading_until(generous()), [&](bool was) { in_time = was; });
    }).join();
    EXPECT_TRUE(in_time);
  });
}

// Whatever it waits for, and with a deadline or without; then it can be waited for again.
KIND_TEST(BecomeIoUntil, AStopEndsTheWait) {
  this->run([] {
    auto [client, server] = make_connection();
    tcp_listener listener("127.0.0.1", 0);
    auto [full, drained] = make_connection();
    fill(full);
    std::atomic<int> result = 0;
    const auto waits = [&](auto wait, const std::stop_source& stop) {
      result = 0;
      return Kind::spawn([&, wait = std::move(wait), token = stop.get_token()]() mutable {
        return become(stoppable(std::move(wait), token), [&](bool came) { result = came ? 1 : -1; });
      });
    };
    const auto is_stopped = [&](auto make) {
      for (const bool elsewhere : {false, true}) {
        std::stop_source stop;
        auto waiting = waits(make(), stop);
        until_stackless<Kind>(1);
        if (elsewhere)
          std::thread([&] { stop.request_stop(); }).join();
        else
          stop.request_stop();
        waiting.join();
        EXPECT_EQ(result, -1);
        waits(make(), stop).join();
        EXPECT_EQ(result, -1);
      }
    };
    is_stopped([&stream = server] { return stream.reading(); });
    is_stopped([&stream = server] { return stream.reading_until(generous()); });
    is_stopped([&stream = full] { return stream.writing(); });
    is_stopped([&] { return listener.accepting(); });
    // Nothing is lost.
    std::stop_source stop;
    auto reads = waits(server.reading(), stop);
    auto accepts = waits(listener.accepting(), stop);
    until_stackless<Kind>(2);
    client.write_all("x", generous());
    reads.join();
    EXPECT_EQ(result.exchange(0), 1);
    const tcp_stream other = tcp_stream::connect("127.0.0.1", listener.port(), generous());
    accepts.join();
    EXPECT_EQ(result, 1);
    stop.request_stop();
    waits(server.reading(), stop).join();
    EXPECT_EQ(result, 1);  // there is something
  });
}

// Bytes, deadlines and stops at the same time: every byte is read, and every fiber resumes.
KIND_TEST(BecomeIoUntil, DeadlinesAndStopsRaceWithEvents) {
  this->run([] {
    constexpr int count = 20;
    constexpr int rounds = 50;
    struct reading {
      tcp_stream from;
      std::atomic<int>* read;
      std::stop_token token;
      int left = rounds;
      static continuation on(reading me, bool) {
        char byte;
        std::error_code none;
        const auto got = static_cast<int>(me.from.read_some(std::span(&byte, 1), none, steady::now()));
        *me.read += got;
        me.left -= got;
        if (me.left == 0)
          return {};
        const auto until = [](const reading& its) {
          return its.from.reading_until(steady::now() + std::chrono::microseconds(its.left % 7 * 20));
        };
        if (me.token.stop_requested())
          return become(until, on, std::move(me));
        return become([until](const reading& its) { return stoppable(until(its), its.token); }, on,
                      std::move(me));
      }
    };
    std::atomic<int> read = 0;
    std::vector<tcp_stream> clients;
    std::vector<std::stop_source> stops(count);
    std::vector<typename Kind::fiber> all;
    for (std::size_t i = 0; i < count; ++i) {
      auto [client, server] = make_connection();
      clients.push_back(std::move(client));
      all.push_back(Kind::spawn([&, i, stream = std::move(server)]() mutable {
        return reading::on({std::move(stream), &read, stops[i].get_token()}, true);
      }));
    }
    std::thread stopping([&] {
      for (std::stop_source& each : stops) {
        std::this_thread::sleep_for(1ms);
        each.request_stop();
      }
    });
    for (int round = 0; round < rounds; ++round)
      for (tcp_stream& each : clients) {
        each.write_all("x", generous());
        if (round % 3 == 0)
          Kind::sleep_for(std::chrono::microseconds(round));
      }
    for (auto& each : all)
      each.join();
    stopping.join();
    EXPECT_EQ(read, count * rounds);
  });
}

}  // namespace
}  // namespace sennit
