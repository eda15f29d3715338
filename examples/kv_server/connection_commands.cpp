// Commands about the connection itself: PING ECHO QUIT SELECT HELLO CLIENT.
#include <algorithm>

#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

void client_getname(invocation& call) {
  if (call.from.name.empty()) {
    call.reply.null();
  } else {
    call.reply.bulk(call.from.name);
  }
}

void client_id(invocation& call) {
  call.reply.integer(static_cast<std::int64_t>(call.from.id));
}

// Redis has it from 7.2 on; client libraries send it to whatever server they find.
void client_setinfo(invocation& call) {
  call.reply.ok();
}

// False, and an error replied, if it is no name.
bool set_name(invocation& call, std::string_view name) {
  if (!std::all_of(name.begin(), name.end(), [](char byte) { return byte >= '!' && byte <= '~'; })) {
    call.reply.error("ERR Client names cannot contain spaces, newlines or special characters.");
    return false;
  }
  call.from.name = name;
  return true;
}

void client_setname(invocation& call) {
  if (set_name(call, call.arguments[2])) {
    call.reply.ok();
  }
}

void reply_hello(invocation& call) {
  reply_writer& reply = call.reply;
  reply.array(14);
  reply.bulk("server");
  reply.bulk("redis");
  reply.bulk("version");
  reply.bulk(redis_version);
  reply.bulk("proto");
  reply.integer(2);
  reply.bulk("id");
  reply.integer(static_cast<std::int64_t>(call.from.id));
  reply.bulk("mode");
  reply.bulk("standalone");
  reply.bulk("role");
  reply.bulk("master");
  reply.bulk("modules");
  reply.array(0);
}

}  // namespace

void ping(invocation& call) {
  if (call.arguments.size() > 2) {
    fail_arity("ping");
  }
  if (call.from.subscriptions != 0) {
    call.reply.array(2);
    call.reply.bulk("pong");
    call.reply.bulk(call.arguments.size() == 2 ? call.arguments[1] : "");
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

void select(invocation& call) {
  if (integer_argument(call, 1) != 0) {
    fail("ERR DB index is out of range");
  }
  call.reply.ok();
}

// HELLO [version [SETNAME name]]; the server speaks RESP2 only.
void hello(invocation& call) {
  const request& arguments = call.arguments;
  if (arguments.size() > 1) {
    const auto version = parse_integer(arguments[1]);
    if (!version) {
      call.reply.error("ERR Protocol version is not an integer or out of range");
      return;
    }
    if (*version != 2) {
      call.reply.error("NOPROTO unsupported protocol version");
      return;
    }
  }
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    if (!equals_ignoring_case(arguments[i], "setname") || i + 1 == arguments.size()) {
      call.reply.error("ERR Syntax error in HELLO option '" + std::string(arguments[i]) + "'");
      return;
    }
    if (!set_name(call, arguments[i + 1])) {
      return;
    }
  }
  reply_hello(call);
}

constexpr subcommand client_table[] = {
    {"getname", 2, client_getname},
    {"id", 2, client_id},
    {"setinfo", 4, client_setinfo},
    {"setname", 3, client_setname},
};
const std::span<const subcommand> client_choices = client_table;

}  // namespace kv::handlers
