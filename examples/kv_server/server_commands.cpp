// Commands about the server: COMMAND CONFIG INFO.
#include <unistd.h>

#include <bit>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

struct flag_name {
  unsigned flag;
  std::string_view name;
};

constexpr flag_name flag_names[] = {
    {flag::write, "write"},       {flag::readonly, "readonly"}, {flag::denyoom, "denyoom"},
    {flag::noscript, "noscript"}, {flag::loading, "loading"},   {flag::stale, "stale"},
    {flag::fast, "fast"},         {flag::no_auth, "no_auth"},   {flag::blocking, "blocking"},
    {flag::pubsub, "pubsub"},     {flag::admin, "admin"},
};

void reply_flags(unsigned flags, reply_writer& reply) {
  flags &= ~(flag::subscriber | flag::at_once);
  reply.array(static_cast<std::size_t>(std::popcount(flags)));
  for (const flag_name& each : flag_names) {
    if ((flags & each.flag) != 0) {
      reply.simple(each.name);
    }
  }
}

// The ten elements of Redis 7; no categories, tips, key specifications or subcommands.
void reply_information(const kv::command& about, reply_writer& reply) {
  reply.array(10);
  reply.bulk(about.name);
  reply.integer(about.arity);
  reply_flags(about.flags, reply);
  reply.integer(about.keys.first);
  reply.integer(about.keys.last);
  reply.integer(about.keys.step);
  for (int i = 0; i < 4; ++i) {
    reply.array(0);
  }
}

void reply_documentation(const kv::command& about, reply_writer& reply) {
  reply.bulk(about.name);
  reply.array(6);
  reply.bulk("summary");
  reply.bulk(about.summary);
  reply.bulk("since");
  reply.bulk(about.since);
  reply.bulk("group");
  reply.bulk(about.group);
}

void reply_all_information(reply_writer& reply) {
  reply.array(all_commands().size());
  for (const kv::command& each : all_commands()) {
    reply_information(each, reply);
  }
}

void command_count(invocation& call) {
  call.reply.integer(static_cast<std::int64_t>(all_commands().size()));
}

void command_docs(invocation& call) {
  std::vector<const kv::command*> wanted;
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    if (const kv::command* found = find_command(call.arguments[i])) {
      wanted.push_back(found);
    }
  }
  if (call.arguments.size() == 2) {
    for (const kv::command& each : all_commands()) {
      wanted.push_back(&each);
    }
  }
  call.reply.array(2 * wanted.size());
  for (const kv::command* each : wanted) {
    reply_documentation(*each, call.reply);
  }
}

void command_info(invocation& call) {
  if (call.arguments.size() == 2) {
    reply_all_information(call.reply);
    return;
  }
  call.reply.array(call.arguments.size() - 2);
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    if (const kv::command* found = find_command(call.arguments[i])) {
      reply_information(*found, call.reply);
    } else {
      call.reply.null();
    }
  }
}

void command_list(invocation& call) {
  call.reply.array(all_commands().size());
  for (const kv::command& each : all_commands()) {
    call.reply.bulk(each.name);
  }
}

struct parameter {
  std::string name;
  std::string value;
};

std::vector<parameter> parameters(const settings& config) {
  return {
      {"appendonly", "no"},
      {"bind", config.bind},
      {"client-query-buffer-limit", std::to_string(config.protocol.max_request)},
      {"databases", "1"},
      {"enable-debug-command", config.debug_command ? "yes" : "no"},
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

// A parameter asked for by its plain name is named in the reply as the client spelt it.
bool matches(parameter& one, const std::string& pattern) {
  if (pattern.find_first_of("[*?") != std::string::npos) {
    return matches_pattern(pattern, one.name, true);
  }
  if (!equals_ignoring_case(pattern, one.name)) {
    return false;
  }
  one.name = pattern;
  return true;
}

void config_get(invocation& call) {
  std::vector<parameter> found;
  for (parameter& each : parameters(call.server.config)) {
    for (std::size_t i = 2; i < call.arguments.size(); ++i) {
      if (matches(each, std::string(call.arguments[i]))) {
        found.push_back(each);
        break;
      }
    }
  }
  call.reply.array(2 * found.size());
  for (const parameter& each : found) {
    call.reply.bulk(each.name);
    call.reply.bulk(each.value);
  }
}

struct section {
  std::string_view name;  // lower case
  std::string text;
};

std::vector<section> information(const server_state& server) {
  using std::chrono::duration_cast, std::chrono::seconds, std::chrono::steady_clock;
  const auto line = [](std::string_view name, auto value) {
    return std::string(name) + ":" + std::to_string(value) + "\r\n";
  };
  const statistics& stats = server.stats;
  const auto uptime = duration_cast<seconds>(steady_clock::now() - server.started);
  std::vector<section> sections{
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
                    line("client_faults", stats.client_faults) +
                    line("pubsub_channels", server.channels.size())},
      {"keyspace", "# Keyspace\r\n"},
  };
  if (const std::size_t keys = server.keys.size()) {
    sections.back().text += "db0:keys=" + std::to_string(keys) + ",expires=0,avg_ttl=0\r\n";
  }
  return sections;
}

bool wants_section(const request& arguments, std::string_view name) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    for (const std::string_view choice :
         {name, std::string_view("all"), std::string_view("default"), std::string_view("everything")}) {
      if (equals_ignoring_case(arguments[i], choice)) {
        return true;
      }
    }
  }
  return arguments.size() == 1;
}

}  // namespace

void command(invocation& call) {
  if (call.arguments.size() == 1) {
    reply_all_information(call.reply);
    return;
  }
  run_subcommand(call);
}

void info(invocation& call) {
  std::string text;
  for (const section& each : information(call.server)) {
    if (wants_section(call.arguments, each.name)) {
      text += (text.empty() ? "" : "\r\n") + each.text;
    }
  }
  call.reply.bulk(text);
}

constexpr subcommand command_table[] = {
    {"count", 2, command_count, "COUNT", "Return the total number of commands in this server."},
    {"docs", -2, command_docs, "DOCS [<command-name> ...]", "Return documentation details about commands."},
    {"info", -2, command_info, "INFO [<command-name> ...]", "Return details about multiple commands."},
    {"list", 2, command_list, "LIST", "Return a list of all commands in this server."},
};
const std::span<const subcommand> command_choices = command_table;

constexpr subcommand config_table[] = {
    {"get", -3, config_get, "GET <pattern>",
     "Return parameters matching the glob-like <pattern> and their values."},
};
const std::span<const subcommand> config_choices = config_table;

}  // namespace kv::handlers
