// Commands about the connection itself: PING ECHO QUIT SELECT AUTH HELLO CLIENT.
#include <algorithm>
#include <optional>
#include <string>

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

void set_name(invocation& call, std::string_view name) {
  if (!std::all_of(name.begin(), name.end(), [](char byte) { return byte >= '!' && byte <= '~'; })) {
    fail("ERR Client names cannot contain spaces, newlines or special characters.");
  }
  call.from.name = name;
}

void client_setname(invocation& call) {
  set_name(call, call.arguments[2]);
  call.reply.ok();
}

void reply_hello(invocation& call) {
  reply_writer& reply = call.reply;
  reply.array(14);
  reply.bulk("server");
  reply.bulk("sennit");
  reply.bulk("version");
  reply.bulk(server_version);
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

// There are no passwords: the user "default" may use any, as in a redis-server without one.
void check_user(std::string_view name) {
  if (name != "default") {
    fail("WRONGPASS invalid username-password pair or user is disabled.");
  }
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
      set_name(call, arguments[++i]);
    } else {
      fail("ERR Syntax error in HELLO option '" + std::string(arguments[i]) + "'");
    }
  }
  if (user) {
    check_user(*user);
  }
  reply_hello(call);
}

constexpr subcommand client_table[] = {
    {"getname", 2, client_getname, "GETNAME", "Return the name of the current connection."},
    {"id", 2, client_id, "ID", "Return the ID of the current connection."},
    {"setinfo", 4, client_setinfo, "SETINFO <option> <value>",
     "Accept information about the client library."},
    {"setname", 3, client_setname, "SETNAME <name>", "Assign the name <name> to the current connection."},
};
const std::span<const subcommand> client_choices = client_table;

}  // namespace kv::handlers
