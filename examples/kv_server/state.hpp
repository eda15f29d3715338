// What the commands work on: the settings, and the whole server's state.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "client.hpp"
#include "protocol.hpp"
#include "store.hpp"
#include "turns.hpp"

namespace kv {

struct invocation;

// Runs one request, or its first portion (commands.hpp).
using executor = step (*)(invocation&);
step execute(invocation& call);

// Clients choose what to send by the version that they are told. This is Sennit's own: lower than that of any
// Redis, it promises no command.
inline constexpr const char* server_version = "0.1.0";

struct settings {
  std::string bind = "127.0.0.1";
  std::uint16_t port = 6379;
  std::size_t max_clients = 10000;
  std::size_t max_memory = 0;  // of the store; 0: no limit
  // Of all sessions together, as far as one holds more than a usual request needs (session.hpp).
  std::size_t max_memory_clients = std::size_t{256} << 20;
  std::size_t max_output = std::size_t{256} << 20;  // replies of one session not yet sent
  std::size_t max_pushed = std::size_t{32} << 20;   // messages to one client that it has not taken yet
  std::chrono::microseconds time_slice{0};          // of a fiber that computes; 0: it is not preempted
  protocol_limits protocol;
};

struct statistics {
  std::uint64_t connections_received = 0;
  std::uint64_t rejected_connections = 0;
  std::uint64_t commands_processed = 0;
  std::size_t connected_clients = 0;
  std::size_t computing_clients = 0;  // beside what others do
};

// What the sessions of one thread share (session.hpp): where they receive, and the output block last used,
// still warm.
struct workspace {
  std::array<char, std::size_t{16} << 10> receive_block;
  buffer spare_output{0};
};

// Clients that wait for a list to have an item (BLPOP): which waits for which key, in which order.
class blocked_clients {
public:
  std::size_t size() const { return size_; }

  // `one.waiting` says for what. Throws std::bad_alloc, then it does not wait.
  void add(client& one);
  void remove(client& one);  // and one.waiting is empty

  // The key has a list now, or more in it.
  void list_has_grown(std::string_view key);
  bool has_news() const { return !grown_.empty(); }

  // Gives the items of lists that have grown to the clients that wait for them: the one that has waited
  // longest first. Lists that are claimed have to wait, too. To be called between commands.
  void serve(server_state& server);

private:
  void serve_key(server_state& server, const std::string& key);

  std::map<std::string, std::list<client*>, std::less<>> lines_;
  std::vector<std::string> grown_;
  std::size_t size_ = 0;
};

struct server_state {
  explicit server_state(const settings& chosen) : config(chosen) { keys.limit_memory(chosen.max_memory); }

  settings config;
  store keys;
  kv::claims claims;
  statistics stats;
  blocked_clients blocked;
  std::map<std::string, std::set<client*>, std::less<>> channels;  // those that have subscribers
  std::size_t client_memory = 0;                                   // counted against max_memory_clients
  workspace shared;                                                // by all sessions, if one thread runs them
  executor run_request = execute;  // or what runs it in another way: fronts/coroutine_per_request.hpp
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

}  // namespace kv
