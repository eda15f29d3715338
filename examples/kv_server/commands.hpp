// The commands: one table row each, found by name, checked for arity, executed on buffers alone.
#pragma once

#include <cstdint>
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

// What COMMAND tells of a command; the dispatcher itself goes by denyoom alone, which refuses the command
// when the store is over max_memory.
namespace flag {
inline constexpr unsigned write = 1, readonly = 2, denyoom = 4, fast = 8, noscript = 16, loading = 32,
                          stale = 64, no_auth = 128;
}

struct key_range {
  int first, last, step;  // argument positions of keys; all 0: none
};

struct command {
  std::string_view name;  // lower case
  int arity;              // with the name; -n: n or more
  unsigned flags;
  key_range keys;
  std::string_view group, since, summary;
  void (*run)(invocation&);
};

// Every command, in the table's order.
std::span<const command> all_commands();

// Case does not matter; nullptr: no such command.
const command* find_command(std::string_view name);

// Runs one request, which has at least one argument: its reply, or an error, is appended. The reply may be
// too long for the writer's buffer, which then says so. Throws nothing: out of memory is an error reply.
void execute(const request& arguments, server_state& server, client& from, reply_writer& reply);

// "CONFIG GET ...", "CLIENT SETNAME ...": a command whose second argument chooses what to do.
struct subcommand {
  std::string_view name;  // lower case
  int arity;              // of the whole command
  void (*run)(invocation&);
};
void run_subcommand(invocation& call, std::string_view command, std::span<const subcommand> choices);

// As Redis's: ASCII only.
bool equals_ignoring_case(std::string_view text, std::string_view lower_case);

inline void reply_not_an_integer(reply_writer& reply) {
  reply.error("ERR value is not an integer or out of range");
}

}  // namespace kv
