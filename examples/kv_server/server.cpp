// All of the server's I/O: one fiber accepts, one waits for the signal to end, and each connection has its
// own, which reads, processes and writes in a plain loop.
#include "server.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <system_error>

#include "sennit/local/runtime.hpp"
#include "sennit/local/signal_set.hpp"
#include "sennit/local/tcp_listener.hpp"
#include "sennit/local/tcp_stream.hpp"
#include "session.hpp"

namespace kv {

namespace {

namespace local = sennit::local;
using clock = std::chrono::steady_clock;

clock::time_point idle_deadline(const settings& config) {
  return config.timeout.count() == 0 ? clock::time_point::max() : clock::now() + config.timeout;
}

void talk(local::tcp_stream& stream, session& one, const settings& config) {
  for (;;) {
    const std::span<char> space = one.receive_space();
    const std::size_t count = stream.read_some(std::as_writable_bytes(space), idle_deadline(config));
    if (count == 0) {
      return;
    }
    one.received(count);
    session::outcome outcome{};
    do {
      outcome = one.process();
      if (!one.output().empty()) {
        stream.write_all(std::as_bytes(std::span(one.output())), idle_deadline(config));
      }
      one.output_sent();
      local::this_fiber::yield();  // a client whose next request is always there already must not keep us
    } while (outcome == session::outcome::more);
    if (outcome == session::outcome::close) {
      return;
    }
  }
}

void serve_connection(local::tcp_stream& stream, server_state& server) {
  session one(server, server.stats.connections_received + 1);
  try {
    talk(stream, one, server.config);
  } catch (const std::system_error&) {
    // Reset by the peer, or idle for too long: the connection's end like any other.
  }
}

void refuse(local::tcp_stream& stream, server_state& server) {
  static constexpr std::string_view error = "-ERR max number of clients reached\r\n";
  ++server.stats.rejected_connections;
  try {
    stream.write_all(std::as_bytes(std::span(error)), clock::now());
  } catch (const std::system_error&) {
    // It has gone already.
  }
}

void accept_one(local::tcp_listener& listener, server_state& server) {
  local::tcp_stream stream = listener.accept();
  if (server.stats.connected_clients >= server.config.max_clients) {
    refuse(stream, server);
    return;
  }
  local::spawn([stream = std::move(stream), &server]() mutable { serve_connection(stream, server); },
               {.name = "connection"});
}

// Descriptors or memory have run out: those who wait to be accepted wait on, until somebody leaves.
void accept_for_ever(local::tcp_listener& listener, server_state& server) {
  for (;;) {
    try {
      accept_one(listener, server);
    } catch (const std::system_error&) {
      local::this_fiber::sleep_for(std::chrono::milliseconds(20));
    } catch (const std::bad_alloc&) {
      local::this_fiber::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

}  // namespace

void serve(const settings& config) {
  const auto server = std::make_unique<server_state>(config);
  local::runtime runtime;
  runtime.run([&] {
    local::signal_set signals{SIGINT, SIGTERM};
    auto listener = std::make_unique<local::tcp_listener>(config.bind, config.port);
    std::printf("Serving on %s:%u, up to %zu clients; Ctrl-C ends it.\n", config.bind.c_str(), config.port,
                config.max_clients);
    std::fflush(stdout);
    // Detached: it ends when the runtime does, and so it owns the listener.
    local::spawn([listener = std::move(listener), &server] { accept_for_ever(*listener, *server); },
                 {.name = "acceptor"});
    signals.wait();
    std::puts("Ending.");
  });
}

}  // namespace kv
