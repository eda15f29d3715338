// One client as the commands see it, and what they ask of the front that serves it.
//
// A front is whatever moves bytes between connections and sessions: fibers, callbacks, threads. Most commands
// reply and are done. Three kinds are not, and leave that in the client:
//
//   `waiting` is set      The client is blocked (BLPOP): nothing more is executed for it until another client
//                         brings what it waits for, its time is over, or it is gone.
//   `work` is set         The rest of a command that takes turns (turns.hpp).
//   it has subscriptions  Other clients send it messages at any time.
//
// Bytes that other clients have for a client are put into `pushed`, and its front is told; see session.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "computing/computing.hpp"
#include "protocol.hpp"
#include "turns.hpp"

namespace kv {

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
  std::deque<stored_request> requests;
  std::size_t arguments = 0, memory = 0;  // of all requests
  unsigned flags = 0;                     // of all their commands
  bool failed = false;                    // a request could not be queued: EXEC refuses
};

struct waiting_for_list {
  std::chrono::steady_clock::time_point deadline;
  std::vector<std::string> keys;  // all different
};

// An item that was taken from a list for a client which does not know it yet.
struct handed_item {
  std::string key;
  std::string text;
};

struct client {
  explicit client(std::size_t max_output) : pushed(max_output) {}

  // What every command looks at comes first.
  std::unique_ptr<transaction> queued;  // from MULTI to the end of EXEC
  std::unique_ptr<waiting_for_list> waiting;
  portions work;
  std::unique_ptr<claim> held;  // by `work`
  bool needs_claim = true;      // false: the rest of `work` claims no more than is in `held`
  bool quit = false;            // close once the replies so far are sent
  bool broken = false;          // close at once
  bool in_exec = false;
  bool watched_changed = false;  // one of `watched`
  sort_job* job = nullptr;       // for step::compute
  std::size_t subscriptions = 0;
  buffer pushed;  // counted in server_state::client_memory

  std::uint64_t id = 0;
  kv::front* front = nullptr;      // nullptr: nobody to be told
  std::size_t state_memory = 0;    // bytes of what is queued, waited for, watched and subscribed to, about
  std::size_t working_memory = 0;  // bytes that `work` holds
  std::unique_ptr<handed_item> handed;
  std::set<std::string, std::less<>> channels;  // subscribed to
  std::set<std::string, std::less<>> watched;
};

// Appends to what is pushed to the client and has it woken. If that becomes too much it is broken off.
void push_to(server_state& server, client& to, std::string_view bytes);

// Forgets everything about a client that is going: its subscriptions, what it waits for. An item handed to it
// that it has not been told of goes back to where it came from.
void forget(server_state& server, client& gone);

}  // namespace kv
