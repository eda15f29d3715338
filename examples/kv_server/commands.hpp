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
};

struct command {
  std::string_view name;  // lower case
  int arity;              // with the name; -n: n or more
  unsigned flags;
  std::string_view group, since, summary;  // COMMAND DOCS
  void (*run)(invocation&);
};

std::span<const command> all_commands();

// Ignores case. Returns nullptr if there is no such command.
const command* find_command(std::string_view name);

// A command throws it to reply with an error, instead of what it has replied so far.
struct command_error {
  std::string text;  // starts with an upper-case code
};
[[noreturn]] void fail(std::string_view text);
[[noreturn]] void fail_arity(std::string_view command);

inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view syntax_error = "ERR syntax error";
inline constexpr std::string_view not_an_integer = "ERR value is not an integer or out of range";

// Executes a request that was queued between MULTI and EXEC.
void execute_queued(const command& found, invocation& call);

// Replies with the result of `call.from.sorting`.
void reply_sorted(invocation& call);

// Other clients wait while a command is executed, so it may use only so many elements (of collections, of a
// transaction) and bytes. EXEC's commands share that. Counts what the command is about to use, and fails
// beyond it. Arguments need not be counted: the protocol has the same limits.
void count(invocation& call, std::size_t elements, std::size_t bytes = 0);
// Fails if `elements` or `bytes` exceed these limits.
void check_bound(const invocation& call, std::string_view what, std::size_t elements, std::size_t bytes = 0);

// Fails if that many bytes more pass --maxmemory.
void check_room(const server_state& server, std::size_t bytes);
bool is_out_of_memory(const server_state& server);
inline constexpr std::string_view out_of_memory = "OOM command not allowed when used memory > 'maxmemory'.";

// As C's %.*s does.
std::string_view until_zero(std::string_view text, std::size_t most);

// As Redis's: ASCII only.
bool equals_ignoring_case(std::string_view text, std::string_view lower_case);

// --- what the data types' files share ---

enum class list_end { left, right };
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

// Like read(), for a value that is changed in place. At the end clients that watch the key are marked, and a
// collection that has become empty is removed. The key must not be removed meanwhile.
template <class Type>
class change {
public:
  change(store& keys, std::string_view key) : keys_(keys), key_(key) {
    if (any_value* found = keys.find(key)) {
      typed_ = get_as<Type>(*found);
      if (typed_ == nullptr) {
        fail(wrong_type);
      }
    }
  }
  change(const change&) = delete;
  change& operator=(const change&) = delete;
  ~change() {
    if (typed_ == nullptr) {
      return;
    }
    if (!std::is_same_v<Type, stored_text> && typed_->empty()) {
      keys_.erase(key_);
    } else if (changed_) {
      keys_.touch(key_);
    }
  }

  explicit operator bool() const { return typed_ != nullptr; }
  Type* operator->() const { return typed_; }
  Type& operator*() const { return *typed_; }

  Type& or_create() {
    if (typed_ == nullptr) {
      if constexpr (std::is_same_v<Type, stored_text>) {
        typed_ = get_as<Type>(keys_.create(key_, stored_text()));
      } else {
        typed_ = get_as<Type>(keys_.create(key_, std::make_unique<Type>()));
      }
    }
    return *typed_;
  }
  void unchanged() { changed_ = false; }  // it was only looked at after all

private:
  store& keys_;
  std::string_view key_;
  Type* typed_ = nullptr;
  bool changed_ = true;
};

}  // namespace kv
