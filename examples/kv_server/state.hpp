// What the commands work on: the settings, and the whole server's state.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "blocking.hpp"
#include "buffer.hpp"
#include "client.hpp"
#include "protocol.hpp"
#include "publishing.hpp"
#include "store.hpp"

namespace kv {

struct server_state;
class reply_writer;

// Runs one request (commands.hpp).
using executor = void (*)(const request&, server_state&, client&, reply_writer&);
void execute(const request& arguments, server_state& server, client& from, reply_writer& reply);

// Clients choose what to send by the version that they are told. This is Sennit's own: lower than that of any
// Redis, it promises no command.
inline constexpr const char* server_version = "0.1.0";

struct settings {
  std::string bind = "127.0.0.1";
  std::uint16_t port = 6379;
  std::size_t max_clients = 10000;
  std::chrono::seconds timeout{0};  // idle clients are closed after it; 0: never
  std::size_t max_memory = 0;       // of the store; 0: no limit
  // Of all sessions together, as far as one holds more than a usual request needs (session.hpp).
  std::size_t max_memory_clients = std::size_t{256} << 20;
  std::size_t max_output = std::size_t{256} << 20;  // replies of one session not yet sent
  std::size_t max_pushed = std::size_t{32} << 20;   // messages to one client that it has not taken yet
  std::chrono::seconds shutdown_timeout{10};        // for requests under way at SIGTERM
  bool debug_command = false;                       // DEBUG may be sent
  std::chrono::microseconds time_slice{0};          // of who computes; 0: does not give way
  protocol_limits protocol;
};

struct statistics {
  std::uint64_t connections_received = 0;
  std::uint64_t rejected_connections = 0;
  std::uint64_t commands_processed = 0;
  std::size_t connected_clients = 0;
  std::size_t computing_clients = 0;  // beside what others do
  std::uint64_t client_faults = 0;    // each has ended its connection alone
};

// What the sessions of one thread share (session.hpp): where they receive, and the output block last used,
// still warm.
struct workspace {
  std::array<char, std::size_t{16} << 10> receive_block;
  buffer spare_output{0};
};

struct server_state {
  explicit server_state(const settings& chosen) : config(chosen) { keys.limit_memory(chosen.max_memory); }

  settings config;
  store keys;
  statistics stats;
  blocked_clients blocked;
  subscribers channels;
  std::size_t client_memory = 0;   // counted against max_memory_clients
  workspace shared;                // by all sessions, if one thread runs them
  executor run_request = execute;  // or what runs it in another way: fronts/coroutine_per_request.hpp
  bool survives_faults = false;    // the front closes who is at_risk and faults, and goes on
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

}  // namespace kv
