// The server without its I/O: a server_state, and clients whose bytes go through sessions, as from a front.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "session.hpp"

namespace kv::fuzz {

// One client and its session.
class peer final : public front {
public:
  explicit peer(server_state& server) : server_(server), session_(server, server.shared, *this) {}

  void wake() override { woken_ = true; }
  void break_off() override { broken_off_ = true; }
  bool is_gone() override { return gone_; }

  // The bytes arrive, at most `piece` at a time, and are processed.
  void send(std::string_view bytes, std::size_t piece = SIZE_MAX);
  // Does what it has been told to do meanwhile; false: nothing.
  bool settle();
  void time_out();
  void end_stream() { gone_ = true; }

  bool closed() const { return closed_ || broken_off_; }
  bool is_blocked() const { return session_.deadline() != std::chrono::steady_clock::time_point::max(); }
  bool awaits_other_clients() const { return session_.awaits_other_clients(); }
  std::string take_received() { return std::exchange(received_, {}); }

private:
  void process();

  server_state& server_;
  session session_;
  std::string received_;
  bool woken_ = false, broken_off_ = false, gone_ = false, closed_ = false;
};

class world {
public:
  static constexpr std::size_t peers = 3;

  explicit world(const settings& config);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  server_state& server() { return *server_; }
  store& keys() { return server_->keys; }

  // A client that has gone is followed by a new one.
  peer& at(std::size_t index);
  void disconnect(std::size_t index) { peers_[index].reset(); }
  bool settle();  // until nobody has anything to do; whether anybody had

  // Everybody leaves and every key is removed: nothing may be left, and the account must be as it was.
  void end();

private:
  std::unique_ptr<server_state> server_;
  std::array<std::unique_ptr<peer>, peers> peers_;
  std::size_t memory_in_the_beginning_ = 0;
};

}  // namespace kv::fuzz
