// Commands about the connection and about the server.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "commands.hpp"
#include "integer.hpp"

namespace kv::handlers {

namespace {

void check_name(std::string_view name) {
  if (!std::all_of(name.begin(), name.end(), [](char byte) { return byte >= '!' && byte <= '~'; })) {
    fail("ERR Client names cannot contain spaces, newlines or special characters.");
  }
}

// Accepts any password for the user "default", as a redis-server without a password does.
void check_user(std::string_view name) {
  if (name != "default") {
    fail("WRONGPASS invalid username-password pair or user is disabled.");
  }
}

bool is_subcommand(const invocation& call, std::string_view name) {
  return equals_ignoring_case(call.arguments[1], name);
}

void check_subcommand_arity(const invocation& call, std::size_t count, std::string_view full_name) {
  if (call.arguments.size() != count) {
    fail_arity(full_name);
  }
}

// Answers HELP, or an unknown subcommand of a command that has one subcommand besides HELP.
void reply_help(invocation& call, std::string_view command, std::string_view upper, std::string_view usage,
                std::string_view text) {
  if (!is_subcommand(call, "help")) {
    fail("ERR unknown subcommand '" + std::string(until_zero(call.arguments[1], 128)) + "'. Try " +
         std::string(upper) + " HELP.");
  }
  check_subcommand_arity(call, 2, std::string(command) + "|help");
  call.reply.array(5);
  call.reply.simple(std::string(upper) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const std::string_view line :
       {usage, text, std::string_view("HELP"), std::string_view("    Print this help.")}) {
    call.reply.simple(line);
  }
}

}  // namespace

void ping(invocation& call) {
  if (call.arguments.size() > 2) {
    fail_arity("ping");
  }
  if (!call.from.channels.empty()) {
    call.reply.bulks({"pong", call.arguments.size() == 2 ? call.arguments[1] : ""});
  } else if (call.arguments.size() == 2) {
    call.reply.bulk(call.arguments[1]);
  } else {
    call.reply.simple("PONG");
  }
}

void echo(invocation& call) {
  call.reply.bulk(call.arguments[1]);
}

void quit(invocation& call) {
  call.from.quit = true;
  call.reply.ok();
}

// AUTH [user] password
void auth(invocation& call) {
  if (call.arguments.size() > 3) {
    fail(syntax_error);
  }
  if (call.arguments.size() == 2) {
    fail(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
        "configuration is correct?");
  }
  check_user(call.arguments[1]);
  call.reply.ok();
}

// HELLO [version [AUTH user password] [SETNAME name]]; the server speaks RESP2 only.
void hello(invocation& call) {
  const request& arguments = call.arguments;
  if (arguments.size() > 1) {
    const auto version = parse_integer(arguments[1]);
    if (!version) {
      fail("ERR Protocol version is not an integer or out of range");
    }
    if (*version != 2) {
      fail("NOPROTO unsupported protocol version");
    }
  }
  std::optional<std::string_view> user;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::size_t behind = arguments.size() - i - 1;
    if (equals_ignoring_case(arguments[i], "auth") && behind >= 2) {
      user = arguments[i + 1];
      i += 2;
    } else if (equals_ignoring_case(arguments[i], "setname") && behind >= 1) {
      check_name(arguments[++i]);
    } else {
      fail("ERR Syntax error in HELLO option '" + std::string(arguments[i]) + "'");
    }
  }
  if (user) {
    check_user(*user);
  }
  reply_writer& reply = call.reply;
  reply.array(14);
  for (const std::string_view each : {"server", "sennit", "version", server_version, "proto"}) {
    reply.bulk(each);
  }
  reply.integer(2);
  reply.bulk("id");
  reply.integer(static_cast<std::int64_t>(call.from.id));
  for (const std::string_view each : {"mode", "standalone", "role", "master", "modules"}) {
    reply.bulk(each);
  }
  reply.array(0);
}

// COMMAND DOCS describes all commands. redis-cli asks for it.
void describe(invocation& call) {
  if (!is_subcommand(call, "docs")) {
    return reply_help(call, "command", "COMMAND", "DOCS",
                      "    Return documentation details about all commands.");
  }
  check_subcommand_arity(call, 2, "command|docs");
  count(call, all_commands().size());
  call.reply.array(2 * all_commands().size());
  for (const command& each : all_commands()) {
    call.reply.bulk(each.name);
    call.reply.bulks({"summary", each.summary, "since", each.since, "group", each.group});
  }
}

// CONFIG GET of the parameters that redis-benchmark asks for. The reply names them as the client spelled
// them.
void configuration(invocation& call) {
  if (!is_subcommand(call, "get")) {
    return reply_help(call, "config", "CONFIG", "GET <name>", "    Return the value of a parameter.");
  }
  check_subcommand_arity(call, 3, "config|get");
  const std::string_view wanted = call.arguments[2];
  if (equals_ignoring_case(wanted, "save") || equals_ignoring_case(wanted, "appendonly")) {
    call.reply.bulks({wanted, equals_ignoring_case(wanted, "save") ? "" : "no"});
  } else {
    call.reply.array(0);
  }
}

// Ignores its arguments.
void info(invocation& call) {
  count(call, 16);  // about
  const server_state& server = call.server;
  std::string text = "# Server\r\nredis_version:" + std::string(server_version) + "\r\n";
  const std::pair<std::string_view, std::size_t> numbers[] = {
      {"preemptible", server.config.time_slice.count() != 0},
      {"connected_clients", server.connected_clients},
      {"blocked_clients", server.blocked.size()},
      {"computing_clients", server.computing_clients},
      {"used_memory", memory_in_use},
      {"pubsub_channels", server.channels.size()},
  };
  for (const auto& [name, value] : numbers) {
    text.append(name).append(":").append(std::to_string(value)).append("\r\n");
  }
  call.reply.bulk(text);
}

}  // namespace kv::handlers
