// Commands about the connection and about the server.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "integer.hpp"

namespace kv::handlers {

namespace {

void check_name(std::string_view name) {
  if (!std::all_of(name.begin(), name.end(), [](char byte) { return byte >= '!' && byte <= '~'; })) {
    fail("ERR Client names cannot contain spaces, newlines or special characters.");
  }
}

// There are no passwords: the user "default" may use any, as in a redis-server without one.
void check_user(std::string_view name) {
  if (name != "default") {
    fail("WRONGPASS invalid username-password pair or user is disabled.");
  }
}

struct parameter {
  std::string_view name;
  std::string value;
};

std::vector<parameter> parameters(const settings& config) {
  return {
      {"appendonly", "no"},
      {"bind", config.bind},
      {"client-query-buffer-limit", std::to_string(config.protocol.max_request)},
      {"databases", "1"},
      {"maxclients", std::to_string(config.max_clients)},
      {"maxmemory", std::to_string(config.max_memory)},
      {"maxmemory-clients", std::to_string(config.max_memory_clients)},
      {"maxmemory-policy", "noeviction"},
      {"port", std::to_string(config.port)},
      {"proto-max-bulk-len", std::to_string(config.protocol.max_bulk)},
      {"save", ""},
      {"timeout", std::to_string(config.timeout.count())},
  };
}

std::vector<parameter> information(const server_state& server) {
  using std::chrono::duration_cast, std::chrono::seconds, std::chrono::steady_clock;
  const auto line = [](std::string_view name, auto value) {
    return std::string(name) + ":" + std::to_string(value) + "\r\n";
  };
  const statistics& stats = server.stats;
  const auto uptime = duration_cast<seconds>(steady_clock::now() - server.started);
  std::string keyspace = "# Keyspace\r\n";
  if (const std::size_t keys = server.keys.size()) {
    keyspace += "db0:keys=" + std::to_string(keys) + ",expires=0,avg_ttl=0\r\n";
  }
  return {
      {"server", "# Server\r\nredis_version:" + std::string(server_version) +
                     "\r\nserver_name:sennit kv_server\r\nredis_mode:standalone\r\n" +
                     line("process_id", getpid()) + line("tcp_port", server.config.port) +
                     line("uptime_in_seconds", uptime.count()) +
                     line("preemptible", server.config.time_slice.count() != 0) +
                     line("time_slice_us", server.config.time_slice.count())},
      {"clients", "# Clients\r\n" + line("connected_clients", stats.connected_clients) +
                      line("maxclients", server.config.max_clients) +
                      line("blocked_clients", server.blocked.size()) +
                      line("computing_clients", stats.computing_clients)},
      {"memory", "# Memory\r\n" + line("used_memory", server.keys.used_memory()) +
                     line("maxmemory", server.config.max_memory) +
                     line("mem_clients_large", server.client_memory)},
      {"stats", "# Stats\r\n" + line("total_connections_received", stats.connections_received) +
                    line("total_commands_processed", stats.commands_processed) +
                    line("rejected_connections", stats.rejected_connections) +
                    line("pubsub_channels", server.channels.size())},
      {"keyspace", std::move(keyspace)},
  };
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

portions reset(invocation& call) {
  portions drop = drop_transaction(call);
  for (step next = drop.resume(); next != step::done; next = drop.resume()) {
    co_yield next;
  }
  for (budget now; !call.from.channels.empty();) {
    leave_channel(call, std::string(*call.from.channels.begin()));
    if (now.spent()) {
      co_yield step::more;
    }
  }
  call.reply.simple("RESET");
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

portions command_docs(invocation& call) {
  std::vector<const kv::command*> wanted;
  budget now;
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    if (const kv::command* found = find_command(call.arguments[i])) {
      wanted.push_back(found);
    }
    if (now.spent()) {
      co_yield step::more;
    }
  }
  if (call.arguments.size() == 2) {
    for (const kv::command& each : all_commands()) {
      wanted.push_back(&each);
    }
  }
  call.reply.array(2 * wanted.size());
  for (const kv::command* each : wanted) {
    call.reply.bulk(each->name);
    call.reply.array(6);
    for (const std::string_view text : {std::string_view("summary"), each->summary, std::string_view("since"),
                                        each->since, std::string_view("group"), each->group}) {
      call.reply.bulk(text);
    }
    if (now.spent(256)) {
      co_yield step::more;
    }
  }
}

// A parameter is named in the reply as the client spelt it.
portions config_get(invocation& call) {
  std::vector<parameter> found;
  std::vector<std::string> names;
  budget now;
  for (parameter& each : parameters(call.server.config)) {
    for (std::size_t i = 2; i < call.arguments.size(); ++i) {
      const std::string_view wanted = call.arguments[i];
      if (wanted == "*" || equals_ignoring_case(wanted, each.name)) {
        names.emplace_back(wanted == "*" ? each.name : wanted);
        found.push_back(std::move(each));
        break;
      }
      if (now.spent()) {
        co_yield step::more;
      }
    }
  }
  call.reply.array(2 * found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    call.reply.bulk(names[i]);
    call.reply.bulk(found[i].value);
  }
}

portions info(invocation& call) {
  std::string text;
  budget now;
  for (const parameter& each : information(call.server)) {
    bool wanted = call.arguments.size() == 1;
    for (std::size_t i = 1; i < call.arguments.size() && !wanted; ++i) {
      for (const std::string_view choice : {each.name, std::string_view("all"), std::string_view("default"),
                                            std::string_view("everything")}) {
        wanted = wanted || equals_ignoring_case(call.arguments[i], choice);
      }
      if (now.spent()) {
        co_yield step::more;
      }
    }
    if (wanted) {
      text += (text.empty() ? "" : "\r\n") + each.value;
    }
  }
  call.reply.bulk(text);
}

}  // namespace kv::handlers
