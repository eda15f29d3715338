// Connections: both directions, by fibers that move, with deadlines, closed by others at any time. Each byte
// encodes its own position.
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"
#include "stress/stress.hpp"

#include "sennit/errno.h"  // last: it redefines errno

namespace stress {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr int most_connections = 100;

void make_pair(tcp_stream (&ends)[2]) {
  int both[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
    throw std::system_error(errno, std::generic_category());
  const int small = 4096;
  for (int i = 0; i < 2; ++i) {
    ::setsockopt(both[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    ends[i] = tcp_stream::adopt(both[i]);
  }
}

struct connection {
  explicit connection(episode& of) : e(of) {}
  ~connection() { --e.talks; }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // The byte that an end writes at a place.
  char byte(int end, std::uint64_t at) const {
    return static_cast<char>(((key[end] + at) * 0x9e3779b97f4a7c15) >> 56);
  }
  // After an error that is none of a deadline: another fiber may have closed an end.
  void check_broken(const std::error_code& error) const {
    check(e, is_closed, "a connection has failed that nobody closed");
    check(e,
          error == std::errc::operation_canceled || error == std::errc::broken_pipe ||
              error == std::errc::connection_reset || error == std::errc::not_connected,
          "a closed connection has failed otherwise");
  }

  episode& e;
  tcp_stream ends[2];
  std::uint64_t key[2] = {};
  std::uint64_t goal[2] = {};  // how much an end writes
  bool is_closed = false;      // by another fiber, sooner or later
};

steady::time_point some_deadline(random_source& random) {
  if (random.one_in(3))
    return steady::now() + std::chrono::microseconds(random.below(300));
  return random.one_in(2) ? steady::time_point::max() : steady::now() + 1h;
}

void write_to(const connection& c, tcp_stream& stream, int me, random_source random) {
  std::string block;
  for (std::uint64_t at = 0; at < c.goal[me];) {
    const unsigned most = random.one_in(3) ? 20000 : 200;
    block.resize(std::min<std::uint64_t>(c.goal[me] - at, 1 + random.below(most)));
    for (std::size_t i = 0; i < block.size(); ++i)
      block[i] = c.byte(me, at + i);
    std::error_code error;
    const auto deadline = some_deadline(random);
    at += random.one_in(2) ? stream.write_all(block, error, deadline)
                           : stream.write_some(block, error, deadline);
    if (error == std::errc::timed_out)
      ++all.give_ups;
    else if (error)
      return c.check_broken(error);
    if (random.one_in(8))
      hop(c.e, random);
  }
  std::error_code error;
  stream.shutdown_write(error);
  if (error)
    c.check_broken(error);
}

void read_from(const connection& c, tcp_stream& stream, int peer, random_source random) {
  std::vector<char> place(20000);
  for (std::uint64_t at = 0;;) {
    std::error_code error;
    const std::size_t most = 1 + random.below(random.one_in(2) ? 100 : static_cast<unsigned>(place.size()));
    const std::size_t size = stream.read_some(std::span(place.data(), most), error, some_deadline(random));
    for (std::size_t i = 0; i < size; ++i)
      check(c.e, place[i] == c.byte(peer, at + i), "a byte is lost, or another's, or came twice");
    at += size;
    all.bytes += size;
    all.progress += size != 0 ? 1 : 0;
    if (error == std::errc::timed_out) {
      ++all.give_ups;
    } else if (error) {
      return c.check_broken(error);
    } else if (size == 0) {
      check(c.e, at == c.goal[peer] || c.is_closed, "a stream has ended too soon");
      check(c.e, at <= c.goal[peer], "a stream was longer than what was written");
      return;
    }
    if (random.one_in(8))
      hop(c.e, random);
  }
}

}  // namespace

void stress_io(episode& e, random_source& random) {
  if (!may_start(e, 5))
    return;
  const bool too_many = ++e.talks > most_connections;
  const auto c = std::make_shared<connection>(e);
  if (too_many)
    return;
  if (random.one_in(8)) {
    tcp_listener listener("127.0.0.1", 0);
    c->ends[0] = tcp_stream::connect("127.0.0.1", listener.port());
    c->ends[1] = listener.accept();
  } else {
    make_pair(c->ends);
  }
  for (int i = 0; i < 2; ++i) {
    c->key[i] = random.next();
    c->goal[i] = random.below(random.one_in(4) ? 200'000 : 5'000);
  }
  c->is_closed = random.one_in(3);
  std::vector<fiber> all_of_it;
  const auto start = [&](auto function) {
    auto body = [&e, c, function, own = random_source(random.next()), counted = token(e)]() mutable {
      const living here(e);
      function(*c, own);
    };
    all_of_it.push_back(random.one_in(3) ? spawn_now(std::move(body)) : spawn(std::move(body)));
  };
  for (int i = 0; i < 2; ++i) {
    start([i](connection& of, random_source own) { write_to(of, of.ends[i], i, own); });
    start([i](connection& of, random_source own) { read_from(of, of.ends[i], 1 - i, own); });
  }
  if (c->is_closed)
    start([](connection& of, random_source own) {
      for (unsigned i = own.below(20); i != 0; --i)
        hop(of.e, own);
      of.ends[own.below(2)].close();
    });
  for (fiber& each : all_of_it) {
    each.join();
    ++all.joins;
  }
}

void listen_in_vain(bool with_deadline) {
  tcp_stream ends[2];
  make_pair(ends);
  char one[1];
  if (with_deadline)
    static_cast<void>(ends[0].read_some(one, steady::now() + 24h));
  else
    static_cast<void>(ends[0].read_some(one));
}

}  // namespace stress
