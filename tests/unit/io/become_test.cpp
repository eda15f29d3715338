// Waiting for I/O without a stack.
#include "sennit/become.hpp"

#include <fcntl.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "sennit/select_io.hpp"
#include "support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using io_test::connection;
using io_test::generous;
using io_test::make_connection;
using io_test::steady;
using namespace std::chrono_literals;

template <class Kind>
class BecomeIo : public kind_test<Kind> {};

// An echo server's connection: without a stack whenever it waits for the client.
struct echoing {
  static continuation on(tcp_stream client) {
    char buffer[64];
    const std::size_t size = client.read_some(buffer, generous());
    if (size == 0)
      return {};
    client.write_all(std::string_view(buffer, size), generous());
    return become(&tcp_stream::reading, on, std::move(client));
  }
};

std::string echo_of(tcp_stream& with, const std::string& text) {
  with.write_all(text, generous());
  std::string reply;
  char buffer[64];
  while (reply.size() < text.size()) {
    const std::size_t size = with.read_some(buffer, generous());
    if (size == 0)
      break;
    reply.append(buffer, size);
  }
  return reply;
}

KIND_TEST(BecomeIo, Echoes) {
  this->run([] {
    auto [client, server] = make_connection();
    auto serving = Kind::spawn([stream = std::move(server)]() mutable {
      return become(&tcp_stream::reading, echoing::on, std::move(stream));
    });
    for (const char* text : {"hello", "again", "x"}) {
      until_stackless<Kind>(1);
      EXPECT_EQ(echo_of(client, text), text);
    }
    client.shutdown_write();
    serving.join();
  });
}

KIND_TEST(BecomeIo, ManyIdleConnectionsHoldNoStack) {
  this->run([] {
    constexpr std::size_t count = 100;
    tcp_listener listener("127.0.0.1", 0);
    std::vector<tcp_stream> clients;
    std::vector<typename Kind::fiber> serving;
    for (std::size_t i = 0; i < count; ++i) {
      auto [client, server] = io_test::connect_to(listener);
      clients.push_back(std::move(client));
      serving.push_back(
          Kind::spawn([stream = std::move(server)]() mutable { return echoing::on(std::move(stream)); }));
    }
    for (int round = 0; round < 3; ++round)
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(echo_of(clients[i], std::to_string(i)), std::to_string(i));
    until_stackless<Kind>(count);
    clients.clear();
    BecomeIo<Kind>::join(serving);
  });
}

KIND_TEST(BecomeIo, WaitsUntilItCanWrite) {
  this->run([] {
    auto [client, server] = make_connection();
    io_test::shrink_buffers(server);
    const std::string all = io_test::pattern(1 << 20);
    struct sending {
      tcp_stream to;
      std::string_view rest;
      static continuation on(sending me) {
        me.rest.remove_prefix(me.to.write_some(me.rest, generous()));
        if (me.rest.empty())
          return {};
        return become([](const sending& its) { return its.to.writing(); }, on, std::move(me));
      }
    };
    auto writer = Kind::spawn(
        [stream = std::move(server), &all]() mutable { return sending::on({std::move(stream), all}); });
    EXPECT_EQ(io_test::read_to_end(client), all);
    writer.join();
  });
}

KIND_TEST(BecomeIo, SelectsAStreamOrAChannel) {
  this->run([] {
    struct state {
      tcp_stream stream;
      typename Kind::template channel<int> numbers;
      std::string read;
      int sum = 0;
      int late = 0;
      bool open = true;
    };
    struct turn {
      static continuation on(state* its, std::size_t) {
        if (!its->open)
          return {};
        return become(
            selecting(on_readable(its->stream,
                                  [its] {
                                    char buffer[3];
                                    const std::size_t got = its->stream.read_some(buffer, generous());
                                    its->read.append(buffer, got);
                                    its->open = got != 0;
                                  }),
                      on_receive(its->numbers, [its](std::optional<int> n) { its->sum += n.value_or(1000); }),
                      on_timeout(10min, [its] { ++its->late; })),
            on, its);
      }
    };
    auto [client, server] = make_connection();
    state its{std::move(server), {}, {}};
    auto selects = Kind::spawn_here([&] { return turn::on(&its, 0); });
    for (int i = 1; i <= 20; ++i) {
      if (i % 3 != 0)
        until_stackless<Kind>(1);
      client.write_all("x", generous());
      if (i % 5 == 0)
        Kind::sleep_for(50us);
      its.numbers.send(i);
    }
    client.close();
    selects.join();
    EXPECT_EQ(its.read, std::string(20, 'x'));
    EXPECT_EQ(its.sum, 210);
    EXPECT_EQ(its.late, 0);
    // One that is closed is ready: its operation says why.
    std::size_t chosen = 9;
    its.stream.close();
    Kind::spawn([&] {
      return become(selecting(on_receive(its.numbers, [](auto) {}), on_readable(its.stream, [] {})),
                    [&](std::size_t number) { chosen = number; });
    }).join();
    EXPECT_EQ(chosen, 1u);
  });
}

KIND_TEST(BecomeIo, Accepts) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    struct accepting {
      tcp_listener* from;
      int left;
      static continuation on(accepting me) {
        tcp_stream stream = me.from->accept(generous());
        stream.write_all("hello", generous());
        return --me.left == 0 ? continuation() : become(me.from->accepting(), on, me);
      }
    };
    auto server =
        Kind::spawn([&] { return become(listener.accepting(), accepting::on, accepting{&listener, 3}); });
    for (int i = 0; i < 3; ++i) {
      until_stackless<Kind>(1);
      tcp_stream client = tcp_stream::connect("127.0.0.1", listener.port(), generous());
      EXPECT_EQ(io_test::read_to_end(client), "hello");
    }
    server.join();
  });
}

KIND_TEST(BecomeIo, AcceptsUntilADeadline) {
  this->run([] {
    tcp_listener listener("127.0.0.1", 0);
    std::atomic<bool> in_time = true;
    Kind::spawn([&] {
      return become(listener.accepting_until(steady::now() + 1ms), [&](bool was) { in_time = was; });
    }).join();
    EXPECT_FALSE(in_time);
    auto server = Kind::spawn(
        [&] { return become(listener.accepting_until(generous()), [&](bool was) { in_time = was; }); });
    until_stackless<Kind>(1);
    tcp_stream client = tcp_stream::connect("127.0.0.1", listener.port(), generous());
    server.join();
    EXPECT_TRUE(in_time);
    EXPECT_TRUE(listener.accept(steady::time_point()).is_open());
  });
}

KIND_TEST(BecomeIo, WaitsForWhatSomebodyElseReadsAndWrites) {
  this->run([] {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    // Made before `ready` ends: a worker that is late with an event for that one would tell this one.
    std::optional<readiness> full(ends[1]);
    auto [client, server] = make_connection();
    const int theirs = ::dup(server.native_handle());
    {
      readiness ready(theirs);
      struct reading {
        readiness* ready;
        std::string* text;
        static continuation on(reading me) {
          char next;  // so the last event is not used up
          const ssize_t got = ::recv(me.ready->native_handle(), &next, 1, MSG_DONTWAIT);
          if (got > 0)
            me.text->push_back(next);
          return got == 0 ? continuation() : become(me.ready->reading(), on, me);
        }
      };
      std::string text;
      auto reader = Kind::spawn([&] { return become(ready.reading(), reading::on, reading{&ready, &text}); });
      bool writable = false;
      Kind::spawn([&] { return become(ready.writing(), [&] { writable = true; }); }).join();
      EXPECT_TRUE(writable);
      for (const char* each : {"he", "llo"}) {
        until_stackless<Kind>(1);
        client.write_all(each, generous());
      }
      client.shutdown_write();
      reader.join();
      EXPECT_EQ(text, "hello");
    }
    ::close(theirs);
    char block[4096] = {};
    while (::write(ends[1], block, sizeof block) > 0) {
    }
    const auto is_writable_by = [&](auto deadline) {
      bool in_time = false;
      Kind::spawn([&, deadline] {
        return become(full->writing_until(deadline), [&](bool was) { in_time = was; });
      }).join();
      return in_time;
    };
    EXPECT_FALSE(is_writable_by(steady::now() + 1ms));
    auto waits = Kind::spawn([&] { EXPECT_TRUE(is_writable_by(generous())); });
    until_stackless<Kind>(1);
    while (::read(ends[0], block, sizeof block) > 0) {
    }
    waits.join();
    full.reset();
    ::close(ends[0]);
    ::close(ends[1]);
    // What cannot be watched is ready, and what has failed once may be waited for again.
    readiness nothing(-1);
    std::error_code error;
    nothing.wait_readable(error);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    Kind::spawn([&] { return become(nothing.reading(), [] {}); }).join();
  });
}

KIND_TEST(BecomeIo, IsWokenWhenTheStreamIsClosed) {
  this->run([] {
    auto [client, server] = make_connection();
    std::error_code error;
    auto waits = Kind::spawn([&stream = server, &error] {
      return become(stream.reading(), [&] {
        char buffer[4];
        stream.read_some(buffer, error);
      });
    });
    until_stackless<Kind>(1);
    server.close();
    waits.join();
    EXPECT_TRUE(error);
    // One that is closed already.
    Kind::spawn([&stream = server] { return become(stream.reading(), [] {}); }).join();
  });
}

// A waiter in one direction does not affect the other, and the file descriptor is closed with its fiber's
// state.
KIND_TEST(BecomeIo, TheRuntimesEndClosesWhatItHolds) {
  std::stop_source stop;
  const std::size_t before = io_test::open_descriptors();
  {
    Kind its;
    const std::size_t running = io_test::open_descriptors();
    its.run([&stop] {
      auto both = make_connection();
      for (tcp_stream* each : {&both.client, &both.server})
        Kind::spawn([stream = std::move(*each)]() mutable {
          return become(
              &tcp_stream::reading, [](tcp_stream) { ADD_FAILURE() << "it went on"; }, std::move(stream));
        }).detach();
      both = make_connection();
      for (tcp_stream* each : {&both.client, &both.server})
        Kind::spawn([stream = std::move(*each)]() mutable {
          return become([](const tcp_stream& of) { return of.reading_until(generous()); },
                        [](tcp_stream, bool) { ADD_FAILURE() << "it went on"; }, std::move(stream));
        }).detach();
      both = make_connection();
      for (tcp_stream* each : {&both.client, &both.server})
        Kind::spawn([stream = std::move(*each), token = stop.get_token()]() mutable {
          return become([token](const tcp_stream& of) { return stoppable(of.reading(), token); },
                        [](tcp_stream, bool) { ADD_FAILURE() << "it went on"; }, std::move(stream));
        }).detach();
      both = make_connection();
      for (tcp_stream* each : {&both.client, &both.server})
        Kind::spawn([stream = std::move(*each)]() mutable {
          return become([](const tcp_stream& of) { return selecting(on_readable(of, [] {})); },
                        [](tcp_stream, std::size_t) { ADD_FAILURE() << "it went on"; }, std::move(stream));
        }).detach();
      until_stackless<Kind>(8);
    });
    EXPECT_EQ(io_test::open_descriptors(), running + 8);
  }
  stop.request_stop();
  EXPECT_EQ(io_test::open_descriptors(), before);
}

}  // namespace
}  // namespace sennit
