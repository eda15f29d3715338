// The commands: one table row each, found by name, checked for arity, executed on buffers alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "protocol.hpp"
#include "reply.hpp"
#include "state.hpp"

namespace kv {

// One command being executed: its arguments, what it may touch, where its reply goes.
struct invocation {
  const request& arguments;  // [0] is the command's name
  server_state& server;
  client& from;
  reply_writer& reply;
};

// What COMMAND tells of a command. The dispatcher itself goes by three: `denyoom` is refused when the store
// is over max_memory; `subscriber` may be sent by those who have subscribed to something; `at_once`, which
// COMMAND does not tell, is not queued between MULTI and EXEC.
namespace flag {
inline constexpr unsigned write = 1, readonly = 2, denyoom = 4, fast = 8, noscript = 16, loading = 32,
                          stale = 64, no_auth = 128, blocking = 256, pubsub = 512, subscriber = 1024,
                          at_once = 2048, admin = 4096;
}

struct key_range {
  int first, last, step;  // argument positions of keys; all 0: none
};

// "CONFIG GET ...", "CLIENT SETNAME ...": the second argument of some commands chooses what to do.
struct subcommand {
  std::string_view name;  // lower case
  int arity;              // of the whole command
  void (*run)(invocation&);
  std::string_view usage, help;  // what HELP replies
};

struct command {
  std::string_view name;  // lower case
  int arity;              // with the name; -n: n or more
  unsigned flags;
  key_range keys;
  std::string_view group, since, summary;
  void (*run)(invocation&);
  const std::span<const subcommand>* choices = nullptr;
};

// Every command, in the table's order.
std::span<const command> all_commands();

// Case does not matter; nullptr: no such command.
const command* find_command(std::string_view name);

// What a command throws to have an error as its only reply. It has replied nothing yet.
struct command_error {
  std::string text;  // starts with an upper-case code
};
[[noreturn]] void fail(std::string_view text);

inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view syntax_error = "ERR syntax error";
inline constexpr std::string_view not_an_integer = "ERR value is not an integer or out of range";
inline constexpr std::string_view not_a_float = "ERR value is not a valid float";
inline constexpr std::string_view not_positive = "ERR value is out of range, must be positive";

// Runs one request, which has at least one argument: its reply, or an error, is appended. The reply may be
// too long for the writer's buffer, which then says so. Throws nothing: out of memory is an error reply.
void execute(const request& arguments, server_state& server, client& from, reply_writer& reply);

// Runs a command that is known to be well-formed, as EXEC does; `execute` without its checks.
void run(const command& found, invocation& call);

// Leaves the rest of a command, with its reply, to the client's session; within a transaction, does it.
void leave(invocation& call, std::unique_ptr<computation> rest);

// Goes on with what `from` is computing, as `execute` would; once it is done, that is empty.
computation::step go_on(server_state& server, client& from, reply_writer& reply);

// What a command has left to do that may fault: see client.hpp. Without the lock, touching nothing of the
// server's.
void run_at_risk();

// The most arguments of a command or a transaction, and the most elements that a command changes in one
// piece: others do not wait for longer than some milliseconds.
inline constexpr std::size_t most_at_once = 16384;
void check_at_once(std::size_t elements);

// Fails if that many bytes more pass --maxmemory.
void check_room(const server_state& server, std::size_t bytes);

bool is_out_of_memory(const server_state& server);
[[noreturn]] void fail_arity(std::string_view command);

// Runs the one of the command's choices that the second argument names.
void run_subcommand(invocation& call);

// As Redis's: ASCII only.
bool equals_ignoring_case(std::string_view text, std::string_view lower_case);

}  // namespace kv
