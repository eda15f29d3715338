// The commands: a table (command_table.cpp), their execution, and helpers that their files (*_commands.cpp)
// share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol.hpp"
#include "reply.hpp"
#include "state.hpp"
#include "turns.hpp"

namespace kv {

// One command while it is executed.
struct invocation {
  request arguments;  // [0] is the command's name
  server_state& server;
  client& from;
  reply_writer& reply;
};

enum flag : unsigned {
  denyoom = 1,     // refused when the store is over max_memory
  subscriber = 2,  // allowed for a client that has subscribed
  at_once = 4,     // not queued between MULTI and EXEC
  write = 8,       // changes its keys
  write_first = 16,
  touches_all = 32,  // keys
};

// Which arguments are keys.
enum class keys : std::uint8_t { none, first, first_two, all, pairs, all_but_last, of_transaction };

using simple = void (*)(invocation&);
using in_turns = portions (*)(invocation&);

// Executes a command in one piece or in portions.
struct handler {
  constexpr handler(simple function) : run(function) {}
  constexpr handler(in_turns function) : begin(function) {}
  simple run = nullptr;
  in_turns begin = nullptr;
};

struct command {
  std::string_view name;  // lower case
  int arity;              // with the name; -n: n or more
  unsigned flags;
  kv::keys keys;
  std::string_view group, since, summary;  // COMMAND DOCS
  handler by;
};

std::span<const command> all_commands();

// Ignores case. Returns nullptr if there is no such command.
const command* find_command(std::string_view name);

// A command throws it to reply with an error, before it has replied anything.
struct command_error {
  std::string text;  // starts with an upper-case code
};
[[noreturn]] void fail(std::string_view text);
[[noreturn]] void fail_arity(std::string_view command);

inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view syntax_error = "ERR syntax error";
inline constexpr std::string_view not_an_integer = "ERR value is not an integer or out of range";

// `execute` (state.hpp) runs one request and appends its reply. If it returns step::more and the client has
// no `work`, the request waits for a claim: call it again. If the client has `work`, call go_on().
step go_on(invocation& call);

// Like execute() and go_on(), for a command within EXEC.
step begin(const command& found, invocation& call, portions& work);
step go_on(invocation& call, portions& work);

// Fails if the command needs more memory, beside its arguments, than --maxmemory leaves.
void check_memory(const command& found, const invocation& call);
// Returns whether the command has to wait for a claim.
bool has_to_wait(const command& found, const invocation& call);
step start_in_turns(const command& found, invocation& call);
// Executes the rest of a long command without suspending it.
void finish_at_once(invocation& call, step next);
void serve_blocked(server_state& server);

// Releases the claims of the command. Within a transaction they stay.
void release_claims(invocation& call);

// Fails if that many bytes more pass --maxmemory.
void check_room(const server_state& server, std::size_t bytes);
bool is_out_of_memory(const server_state& server);
inline constexpr std::string_view out_of_memory = "OOM command not allowed when used memory > 'maxmemory'.";

// As C's %.*s does.
std::string_view until_zero(std::string_view text, std::size_t most);

// As Redis's: ASCII only.
bool equals_ignoring_case(std::string_view text, std::string_view lower_case);

// --- what the data types' files share ---

enum class operation { intersection, united, difference };  // on sets

std::int64_t integer_argument(const invocation& call, std::size_t index);

// As C's strtod reads it, the whole text and no space before it: "inf" and "0x10" are numbers.
std::optional<double> parse_double(std::string_view text);

// Returns the value at a key, or nullptr. Fails if it has another type.
template <class Type>
const Type* read(const invocation& call, std::string_view key) {
  const any_value* found = call.server.keys.find(key);
  const Type* typed = found == nullptr ? nullptr : get_as<Type>(*found);
  if (found != nullptr && typed == nullptr) [[unlikely]] {
    fail(wrong_type);
  }
  return typed;
}

// Like read(), for a value that is changed in place.
template <class Type>
class change {
public:
  change(invocation& call, std::string_view key) : edit_(call.server.keys, key) {
    if (any_value* found = edit_.get()) {
      typed_ = get_as<Type>(*found);
      if (typed_ == nullptr) {
        edit_.unchanged();
        fail(wrong_type);
      }
    }
  }

  explicit operator bool() const { return typed_ != nullptr; }
  Type* operator->() const { return typed_; }
  Type& operator*() const { return *typed_; }

  Type& or_create() {
    if (typed_ == nullptr) {
      typed_ = get_as<Type>(edit_.create(make_value<Type>()));
    }
    return *typed_;
  }
  void unchanged() { edit_.unchanged(); }

private:
  store::edit edit_;
  Type* typed_ = nullptr;
};

// A collection that a command builds. It is destroyed some elements at a time.
template <class Type>
class scratch {
public:
  explicit scratch(invocation& call) : keys_(call.server.keys), held_(std::make_unique<Type>()) {}
  ~scratch() { keys_.discard(std::move(held_)); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  Type* operator->() const { return held_.get(); }
  any_value take() { return std::exchange(held_, std::make_unique<Type>()); }

private:
  store& keys_;
  std::unique_ptr<Type> held_;
};

}  // namespace kv
