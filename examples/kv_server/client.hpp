// One client as the commands see it, and what they ask of the front that serves it.
//
// A front is whatever moves bytes between connections and sessions: fibers, callbacks, threads. Most commands
// reply and are done. Four kinds are not, and are told by what they leave in the client:
//
//   `waiting` is set      The client is blocked (BLPOP): nothing more is executed for it until another client
//                         brings what it waits for, its time is over, or it is gone.
//   `computing` is set    Nothing more is executed for it until its session is through with that (SORT).
//   it has subscriptions  Others send it messages at any time.
//   `at_risk` is set      What is left to do for it may fault (DEBUG SEGFAULT): once the replies so far are
//                         sent its front calls run_at_risk(), and closes it.
//
// What may fault is left to the front, because there it is done without the lock and in the midst of nothing.
// A fault gives up all that lies on the stack: nothing unlocks what was locked, nothing ends a change of the
// tables that was begun. So nobody serves a fault of the commands themselves; it ends the process.
//
// Bytes that others have for a client are put into `pushed`, and its front is told; see session.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "computation.hpp"
#include "protocol.hpp"
#include "value.hpp"

namespace kv {

struct client;
struct command;
struct server_state;

// Called from within the commands of other clients: no function here may run a command or wait. With several
// threads, they are called under the lock that guards the server's state.
class front {
public:
  virtual void wake() = 0;       // have process() called soon: there is something in `pushed`
  virtual void break_off() = 0;  // close soon, even if a write to the client is under way
  virtual bool is_gone() = 0;    // the peer has ended its stream, or broken it off, as far as is known now

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
  std::vector<stored_request> requests;
  std::size_t arguments = 0;  // of all requests
  bool failed = false;        // a request could not be queued: EXEC refuses
};

struct waiting_for_list {
  list_end end;
  std::chrono::steady_clock::time_point deadline;
  std::vector<std::string> keys;  // all different
};

// An item that was taken from a list for a client which does not know it yet.
struct handed_item {
  std::string key;
  std::string text;
  list_end end;
};

// What it is to hear of, and what has to be as it was: most clients have neither.
struct interests {
  std::set<std::string, std::less<>> channels;                // subscribed to
  std::map<std::string, std::uint64_t, std::less<>> watched;  // keys, and the store's versions at WATCH
};

struct client {
  explicit client(std::size_t max_output) : pushed(max_output) {}

  // What every command looks at comes first.
  std::unique_ptr<transaction> queued;  // from MULTI to EXEC
  std::unique_ptr<waiting_for_list> waiting;
  std::unique_ptr<computation> computing;
  std::size_t subscriptions = 0;  // channels
  bool quit = false;              // close once the replies so far are sent
  bool broken = false;            // close at once
  bool in_exec = false;
  bool at_risk = false;  // with quit
  buffer pushed;         // counted in server_state::client_memory

  std::uint64_t id = 0;
  kv::front* front = nullptr;    // nullptr: nobody to be told
  std::size_t state_memory = 0;  // bytes of what is queued, waited for, watched and subscribed to, about
  std::unique_ptr<handed_item> handed;
  std::string name;
  std::unique_ptr<kv::interests> interests;  // nullptr: none so far

  // Throws std::bad_alloc.
  kv::interests& its_interests() {
    if (interests == nullptr) {
      interests = std::make_unique<kv::interests>();
    }
    return *interests;
  }
};

// Appends to what is pushed to the client and has it woken. If that becomes too much it is broken off.
void push_to(server_state& server, client& to, std::string_view bytes);

// Forgets everything about a client that is going: its subscriptions, what it waits for. An item handed to it
// that it has not been told of goes back to where it came from.
void forget(server_state& server, client& gone);

}  // namespace kv
