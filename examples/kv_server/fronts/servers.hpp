// The fronts: three ways to serve the same sessions (session.hpp) on the network, for comparison.
//
//   fibers     A fiber for each connection, which waits without a stack. The one to learn from. With several
//              workers (0: one for each CPU), one lock for the state.
//   callbacks  One thread, a state machine for each connection, driven by epoll's events.
//   threads    A thread for each connection, one lock for the state.
//
// Each serves until SIGINT or SIGTERM, and then closes all connections, as redis-server does. Throws
// std::system_error if it cannot listen.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "state.hpp"

namespace kv {

void serve_with_fibers(server_state& server, unsigned workers);
void serve_with_callbacks(server_state& server);
void serve_with_threads(server_state& server);

// How a request is executed in a coroutine of its own (coroutine_per_request.cpp).
struct coroutine_settings {
  bool pooled = true;                              // coroutines are reused, with their stacks
  bool swap = true;                                // Sennit's switch; false: swapcontext
  std::size_t stack_size = std::size_t{64} << 10;  // from malloc, without a guard
  bool zeroed = false;                             // from calloc
  bool zeroed_again = false;                       // and zeroed before each request
  bool mapped = false;                             // from mmap
};

// Returns the executor for server_state::run_request. The settings hold for the whole process.
executor in_coroutines(const coroutine_settings& chosen);

// Prints where the server listens.
void say_serving(const settings& config);

// The background work of every front: destroys removed values, some elements at a time. Returns when to call
// it again.
std::chrono::steady_clock::time_point destroy_garbage(server_state& server);

// Plain descriptors: for the fronts that have no library to open them, and what all fronts ask of a socket.
class descriptor {
public:
  descriptor() = default;
  explicit descriptor(int number) : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() { reset(); }

  void reset() noexcept;
  int get() const { return number_; }

private:
  int number_ = -1;
};

// A non-blocking socket that listens. Throws std::system_error.
descriptor listen_on(const std::string& address, std::uint16_t port);

// A signalfd for SIGINT and SIGTERM, which are blocked from now on, in threads begun later too. Throws
// std::system_error.
descriptor open_signals();

// Milliseconds until then, as poll() and epoll_wait() wait for them: -1 for max().
int milliseconds_until(std::chrono::steady_clock::time_point deadline);

// The next connection, blocking or not, with TCP_NODELAY; empty, with errno: there is none now.
descriptor accept_from(const descriptor& listener, bool blocking);

// Returns whether `clients` are all that may connect, and then answers with an error.
bool refuse_if_full(const settings& config, std::size_t clients, int socket);

// Whether the peer has ended its stream, with nothing left to read, or broken it off.
bool peer_is_gone(int socket);

}  // namespace kv
