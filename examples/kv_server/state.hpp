// The settings and the state of a server.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "client.hpp"
#include "protocol.hpp"
#include "store.hpp"

namespace kv {

struct invocation;

// Runs one request (commands.hpp).
using executor = void (*)(invocation&);
void execute(invocation& call);

// Clients choose commands by the server's version. This one is lower than that of any Redis.
inline constexpr const char* server_version = "0.1.0";

struct settings {
  std::string bind = "127.0.0.1";
  std::uint16_t port = 6379;
  std::size_t max_clients = 10000;
  std::size_t max_memory = 0;  // of the store; 0: no limit
  // For all sessions together, beyond session::own_allowance of each.
  std::size_t max_memory_clients = std::size_t{256} << 20;
  std::size_t max_output = std::size_t{256} << 20;  // unsent replies of one session
  std::size_t max_pushed = std::size_t{32} << 20;   // unsent messages to one client
  std::chrono::microseconds time_slice{0};          // of a fiber that computes; 0: no preemption
  protocol_limits protocol;
};

struct statistics {
  std::uint64_t connections_received = 0;
  std::uint64_t rejected_connections = 0;
  std::uint64_t commands_processed = 0;
  std::size_t connected_clients = 0;
  std::atomic<std::size_t> computing_clients = 0;
};

// The sessions of one thread share a block to receive into, and the output block used last (session.hpp).
struct workspace {
  std::array<char, std::size_t{16} << 10> receive_block;
  buffer spare_output{0};
};

// The clients that are blocked by BLPOP, in order, for each key.
class blocked_clients {
public:
  std::size_t size() const { return size_; }

  // Blocks a client on the keys of `one.waiting`. Throws std::bad_alloc and then changes nothing.
  void add(client& one);
  void remove(client& one);  // resets one.waiting

  // Call it after items have been added to the key's list.
  void list_has_grown(std::string_view key);
  bool has_news() const { return !grown_.empty(); }

  // Gives the items of grown lists to their blocked clients, in order. Call it between commands.
  void serve(server_state& server);

private:
  void serve_key(server_state& server, const std::string& key);

  std::map<std::string, std::map<std::uint64_t, client*>, std::less<>> lines_;  // by waiting->number
  std::vector<std::string> grown_;
  std::size_t size_ = 0;
  std::uint64_t waits_ = 0;  // so far
};

struct server_state {
  explicit server_state(const settings& chosen) : config(chosen) { keys.limit_memory(chosen.max_memory); }

  settings config;
  store keys;
  statistics stats;
  blocked_clients blocked;
  std::map<std::string, std::set<client*>, std::less<>> channels;  // those that have subscribers
  std::size_t client_memory = 0;                                   // counted against max_memory_clients
  workspace shared;                // for all sessions, if one thread runs them
  executor run_request = execute;  // fronts/coroutine_per_request.cpp has others
};

}  // namespace kv
