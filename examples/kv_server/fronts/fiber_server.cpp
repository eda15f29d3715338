// The server on fibers: one accepts, one waits for the signals to end, one removes keys whose time is over,
// and each connection has its own (fiber_connection.hpp).
#include <cstdio>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>

#include "fiber_connection.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"
#include "servers.hpp"

namespace kv {

namespace {

namespace local = sennit::local;
using clock = std::chrono::steady_clock;

// Outlives the runtime, whose end ends the fibers that use it.
class fiber_server {
public:
  explicit fiber_server(server_state& server) : server_(server) {}

  void serve();

private:
  void accept_until_closed();
  void accept_one();
  void serve_connection(sennit::tcp_stream& stream);
  void refuse(sennit::tcp_stream& stream);
  void finish_connections();

  server_state& server_;
  sennit::tcp_listener listener_;
  std::optional<sennit::signal_set> signals_;
  std::list<fiber_connection*> connections_;
  bool hurry_ = false;  // a second signal has come
  local::mutex changing_;
  local::condition_variable finished_;  // the last connection has ended, or hurry_
};

void fiber_server::serve() {
  signals_.emplace(stop_signals);
  listener_ = sennit::tcp_listener(server_.config.bind, server_.config.port);
  say_serving(server_.config);
  local::spawn([this] { accept_until_closed(); }, {.name = "acceptor"});
  local::spawn(
      [this] {
        for (;;) {
          local::this_fiber::sleep_until(remove_expired(server_));
        }
      },
      {.name = "expiry"});
  signals_->wait();
  finish_connections();
}

// Descriptors or memory have run out: those who wait to be accepted wait on, until somebody leaves.
void fiber_server::accept_until_closed() {
  while (listener_.is_open()) {
    try {
      accept_one();
    } catch (const std::system_error&) {
      local::this_fiber::sleep_for(std::chrono::milliseconds(20));
    } catch (const std::bad_alloc&) {
      local::this_fiber::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

void fiber_server::accept_one() {
  sennit::tcp_stream stream = listener_.accept();
  if (server_.stats.connected_clients >= server_.config.max_clients) {
    refuse(stream);
    return;
  }
  local::spawn([stream = std::move(stream), this]() mutable { serve_connection(stream); },
               {.name = "connection"});
}

void fiber_server::serve_connection(sennit::tcp_stream& stream) {
  fiber_connection connection(stream, server_);
  const auto place = connections_.insert(connections_.end(), &connection);
  // Also when the fiber is ended from outside.
  const auto leave = [&](void*) {
    connections_.erase(place);
    if (connections_.empty()) {
      finished_.notify_all();
    }
  };
  const std::unique_ptr<fiber_connection, decltype(leave)> listed(&connection, leave);
  if (!listener_.is_open()) {
    connection.end_input();
  }
  try {
    connection.serve();
  } catch (const std::system_error&) {
    // Reset by the peer, idle for too long, broken off by us: the connection's end like any other.
  }
}

void fiber_server::refuse(sennit::tcp_stream& stream) {
  ++server_.stats.rejected_connections;
  std::error_code gone_already;
  stream.write_all(too_many_clients, gone_already, clock::now());
}

// What is left when it returns is ended with the runtime.
void fiber_server::finish_connections() {
  say_ending(connections_.size());
  listener_.close();
  for (fiber_connection* each : connections_) {
    each->end_input();
  }
  local::spawn([this] {
    signals_->wait();
    hurry_ = true;
    finished_.notify_all();
  });
  std::unique_lock hold(changing_);
  finished_.wait_until(hold, clock::now() + server_.config.shutdown_timeout,
                       [this] { return connections_.empty() || hurry_; });
}

}  // namespace

void serve_with_fibers(server_state& server) {
  fiber_server front(server);
  local::runtime runtime;
  runtime.run([&] { front.serve(); });
}

}  // namespace kv
