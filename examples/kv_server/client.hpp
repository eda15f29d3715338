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
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "buffer.hpp"
#include "computing/computing.hpp"
#include "protocol.hpp"

namespace kv {

struct command;
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

// A request kept for later, with its own copy of the bytes.
class stored_request {
public:
  stored_request(const command& found, const request& arguments);

  const command& found() const { return *found_; }
  request arguments() const { return {bytes_.data(), slices_.data(), slices_.size()}; }
  std::size_t memory() const {
    return sizeof(*this) + bytes_.capacity() + slices_.capacity() * sizeof(request::slice);
  }

private:
  const command* found_;
  std::string bytes_;
  std::vector<request::slice> slices_;
};

struct transaction {
  std::deque<stored_request> requests;
  std::size_t arguments = 0, memory = 0;  // of all requests
  unsigned flags = 0;                     // of all their commands
  bool failed = false;                    // a request could not be queued: EXEC refuses
};

struct waiting_for_list {
  std::chrono::steady_clock::time_point deadline;
  std::vector<std::string> keys;  // all different
  std::uint64_t number;           // of all waits, in order
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
  bool watched_changed = false;     // one of `watched`
  std::uint64_t watched_epoch = 0;  // of the store, when the first key that exists was watched; 0: none was
  std::size_t subscriptions = 0;
  buffer pushed;  // counted in server_state::client_memory

  std::uint64_t id;
  kv::front& front;
  std::size_t state_memory = 0;  // of queued requests, waits, watched keys, subscriptions and SORT, about
  std::set<std::string, std::less<>> channels;  // subscribed to
  std::set<std::string, std::less<>> watched;
};

// The memory of a name that a client subscribes to or watches, here and in the store, about.
inline std::size_t registered_memory(std::string_view name) {
  return 256 + 2 * name.size();
}

// Appends to `pushed` and wakes the client. Breaks off the client if `pushed` becomes too large.
void push_to(server_state& server, client& to, std::string_view bytes);

void leave_channel(server_state& server, client& from, const std::string& name);
void stop_watching(server_state& server, client& from);

// Removes a client that is going: its subscriptions, watched keys and waits.
void forget(server_state& server, client& gone);

}  // namespace kv
