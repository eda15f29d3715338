// The server's fibers: one accepts, one waits for the signal to end, one removes keys whose time is over, and
// each connection has its own (connection.hpp).
#include "server.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <system_error>

#include "connection.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/local/signal_set.hpp"
#include "sennit/local/tcp_listener.hpp"
#include "sennit/local/tcp_stream.hpp"

namespace kv {

namespace {

namespace local = sennit::local;
using clock = std::chrono::steady_clock;

constexpr std::size_t expired_at_once = 500;  // keys; some 100 us

void serve_connection(local::tcp_stream& stream, server_state& server) {
  try {
    connection(stream, server).serve();
  } catch (const std::system_error&) {
    // Reset by the peer, idle for too long, broken off by us: the connection's end like any other.
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

// Nobody waits for it long: some keys at a time, and a pause.
void expire_for_ever(server_state& server) {
  using std::chrono::milliseconds;
  for (;;) {
    const bool all = server.keys.expire_some(expired_at_once) < expired_at_once;
    local::this_fiber::sleep_for(all ? milliseconds(100) : milliseconds(1));
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
    local::spawn([&server] { expire_for_ever(*server); }, {.name = "expiry"});
    signals.wait();
    std::puts("Ending.");
  });
}

}  // namespace kv
