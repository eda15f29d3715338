// The settings and the state of a server and of its clients.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "computing/computing.hpp"
#include "protocol.hpp"
#include "reply.hpp"
#include "store.hpp"

namespace kv {

// One client as the commands see it, and what they ask of the front that serves it.
//
// A front moves bytes between connections and sessions: fibers, callbacks, threads. Three kinds of commands
// leave state in the client:
//
//   `waiting` is set      The client is blocked (BLPOP) until another client pushes an item, the deadline
//                         passes, or the connection ends.
//   `sorting` is set      The session has to sort a copy (SORT) before it continues.
//   it has subscriptions  Other clients send it messages at any time.
//
// Other clients put bytes for this client into `pushed` and wake its front; see session.hpp.

struct client;
struct invocation;
struct server_state;

// Called from within the commands of other clients, with the server's lock held: these functions must neither
// run a command nor wait.
class front {
public:
  virtual void wake() = 0;       // `pushed` is not empty: call process() soon
  virtual void break_off() = 0;  // close soon, even if a write to the client is under way
  virtual bool is_gone() = 0;    // the peer is known to have closed or reset the connection

protected:
  ~front() = default;
};

struct transaction {
  std::string text;                         // the requests, as the protocol writes them
  std::size_t requests = 0, arguments = 0;  // of all requests
  unsigned flags = 0;                       // of all their commands
  bool failed = false;                      // a request could not be queued: EXEC refuses
};

struct waiting_for_list {
  std::chrono::steady_clock::time_point deadline;
  std::vector<std::string> keys;  // all different
  std::uint64_t number = 0;       // of all waits, in order
  std::size_t memory = 0;
  client* owner = nullptr;                      // null: the wait has ended
  std::unique_ptr<waiting_for_list> next = {};  // of those that have ended
};

// A SORT whose elements are copied.
struct sorting {
  std::unique_ptr<char[]> memory;  // of the elements
  std::size_t bytes;               // of that memory
  sort_job job;
  std::int64_t skip, most;  // LIMIT; a negative `most`: all
};

// What a command has read or written, as count() in commands.hpp bounds it.
struct usage {
  std::size_t elements = 0, bytes = 0;
};

struct client {
  client(std::size_t max_output, std::uint64_t number, kv::front& side)
      : pushed(max_output), id(number), front(side) {}

  // What every command looks at comes first.
  std::unique_ptr<transaction> queued;  // from MULTI to the end of EXEC
  std::unique_ptr<waiting_for_list> waiting;
  std::unique_ptr<kv::sorting> sorting;
  usage used;           // by the command that is executed
  bool quit = false;    // close once the replies so far are sent
  bool broken = false;  // close at once
  bool in_exec = false;
  bool to_wake = false;             // in server_state::to_wake
  bool watched_changed = false;     // one of `watched`
  std::uint64_t watched_epoch = 0;  // of the store, when the first key that exists was watched; 0: none was
  buffer pushed;                    // counted in server_state::client_memory

  std::uint64_t id;
  kv::front& front;
  std::size_t state_memory = 0;  // of queued requests, waits, watched keys, subscriptions and SORT, about
  std::set<std::string, std::less<>> channels;  // subscribed to
  std::set<std::string, std::less<>> watched;
};

// The memory of a name that a client subscribes to, watches or waits for, here and in the store, about.
inline std::size_t registered_memory(std::string_view name) {
  return 256 + 2 * name.size();
}

// Appends to `pushed`; wake_some() wakes the client. Breaks off the client if `pushed` becomes too large.
void push_to(server_state& server, client& to, std::string_view bytes);

// A command may push to thousands of clients. If all of them were woken at once, every other client would
// wait for their turns. A command wakes at most `most_woken`, and the background work wakes the others.
inline constexpr std::size_t most_woken = 200;
void wake_some(server_state& server, std::size_t most);

void leave_channel(server_state& server, client& from, const std::string& name);
void stop_watching(server_state& server, client& from);

// Removes a client that is going: its subscriptions, watched keys and waits.
void forget(server_state& server, client& gone);

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
  bool waker_reads = false;                         // of fibers: the first bytes of a request
  protocol_limits protocol;
};

// The sessions of one thread share a block to receive into, and the output block used last (session.hpp).
struct workspace {
  std::array<char, std::size_t{16} << 10> receive_block;
  buffer spare_output{0};
};

// The clients that are blocked by BLPOP, in order, for each key.
class blocked_clients {
public:
  ~blocked_clients() { destroy_ended(SIZE_MAX); }
  std::size_t size() const { return size_; }

  // Blocks a client on the keys of `one.waiting`. Throws std::bad_alloc and then changes nothing.
  void add(client& one);
  void remove(client& one);  // resets one.waiting; destroy_ended() does the rest
  // Removes at most `most` keys of waits that have ended. Returns whether there are more.
  bool destroy_ended(std::size_t most);

  // Call it after items have been added to the key's list.
  void list_has_grown(std::string_view key);
  bool has_news() const { return !grown_.empty(); }

  // Gives the items of grown lists to their blocked clients, in order. Call it between commands.
  void serve(server_state& server);

private:
  void serve_key(server_state& server, const std::string& key);

  std::map<std::string, std::map<std::uint64_t, waiting_for_list*>, std::less<>> lines_;  // by number
  std::unique_ptr<waiting_for_list> ended_;
  std::vector<std::string> grown_;
  std::size_t size_ = 0;
  std::uint64_t waits_ = 0;  // so far
};

struct server_state {
  explicit server_state(const settings& chosen) : config(chosen) { keys.limit_memory(chosen.max_memory); }

  settings config;
  store keys;
  std::uint64_t connections = 0;  // so far
  std::size_t connected_clients = 0;
  std::atomic<std::size_t> computing_clients = 0;
  blocked_clients blocked;
  std::deque<client*> to_wake;                                     // they have been pushed something
  std::map<std::string, std::set<client*>, std::less<>> channels;  // those that have subscribers
  std::size_t client_memory = 0;                                   // counted against max_memory_clients
  workspace shared;                // for all sessions, if one thread runs them
  executor run_request = execute;  // fronts/coroutine_per_request.cpp has others
};

}  // namespace kv
