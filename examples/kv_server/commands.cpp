// Finding a command and running it. The table itself is in command_table.cpp.
#include "commands.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace kv {

namespace {

// The first eight bytes of a name as one word, zeros behind a shorter one.
std::uint64_t name_word(std::string_view name) {
  std::uint64_t word = 0;
  if (name.size() >= 8) {
    std::memcpy(&word, name.data(), 8);
  } else if (name.size() >= 4) {
    std::uint32_t low = 0, high = 0;  // they overlap
    std::memcpy(&low, name.data(), 4);
    std::memcpy(&high, name.data() + name.size() - 4, 4);
    word = low | std::uint64_t{high} << (8 * (name.size() - 4));
  } else {
    for (std::size_t i = 0; i < name.size(); ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
    }
  }
  return word;
}

// Turns A-Z into a-z in each of the eight bytes and leaves every other byte alone.
std::uint64_t lower_case(std::uint64_t word) {
  constexpr std::uint64_t each = 0x0101010101010101;
  const std::uint64_t low_bits = word & (each * 0x7f);
  const std::uint64_t from_a = low_bits + each * (0x80 - 'A');         // top bit: byte >= 'A'
  const std::uint64_t after_z = low_bits + each * (0x80 - ('Z' + 1));  // top bit: byte > 'Z'
  const std::uint64_t upper = (from_a & ~after_z & ~word) & (each * 0x80);
  return word | upper >> 2;  // 0x80 >> 2 == 0x20
}

// From name words to commands: open addressing, at most a quarter full.
class name_index {
public:
  name_index() {
    static_assert(std::endian::native == std::endian::little, "name_word");
    for (const command& each : all_commands()) {
      std::size_t at = first_slot(name_word(each.name));
      while (slots_[at].found != nullptr) {
        at = (at + 1) % slots_.size();
      }
      slots_[at] = {name_word(each.name), &each};
    }
  }

  const command* find(std::string_view name) const {
    const std::uint64_t word = lower_case(name_word(name));
    for (std::size_t at = first_slot(word); slots_[at].found != nullptr; at = (at + 1) % slots_.size()) {
      const command* found = slots_[at].found;
      if (slots_[at].word == word && found->name.size() == name.size() &&
          (name.size() <= 8 || equals_ignoring_case(name.substr(8), found->name.substr(8)))) {
        return found;
      }
    }
    return nullptr;
  }

private:
  struct slot {
    std::uint64_t word;
    const command* found;
  };

  static std::size_t first_slot(std::uint64_t word) { return (word * 0x9e3779b97f4a7c15) >> 54; }

  std::array<slot, 1024> slots_{};
};

const name_index commands_by_name;

bool has_arity(const request& arguments, int arity) {
  const auto count = static_cast<std::ptrdiff_t>(arguments.size());
  return arity >= 0 ? count == arity : count >= -arity;
}

// As C's %s and %.128s do.
std::string_view until_zero(std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  return text.substr(0, text.find('\0'));
}

[[noreturn, gnu::noinline]] void fail_unknown_command(const request& arguments) {
  std::string beginning;
  for (std::size_t i = 1; i < arguments.size() && beginning.size() < 128; ++i) {
    const std::string_view shown = until_zero(arguments[i], 128 - beginning.size());
    beginning.append("'").append(shown).append("' ");
  }
  fail("ERR unknown command '" + std::string(until_zero(arguments[0], 128)) +
       "', with args beginning with: " + beginning);
}

constexpr std::string_view no_memory_left = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
constexpr std::string_view out_of_memory = "OOM command not allowed when used memory > 'maxmemory'.";

[[noreturn, gnu::noinline]] void fail_subscriber(std::string_view command) {
  fail("ERR Can't execute '" + std::string(command) +
       "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context");
}

std::string upper_case(std::string_view name) {
  std::string upper(name);
  for (char& byte : upper) {
    byte = static_cast<char>(byte & ~0x20);
  }
  return upper;
}

// In Redis's form: a line of usage and an indented explanation for each subcommand.
void reply_help(invocation& call) {
  const command& of = *find_command(call.arguments[0]);
  call.reply.array(3 + 2 * of.choices->size());
  call.reply.simple(upper_case(of.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const subcommand& each : *of.choices) {
    call.reply.simple(each.usage);
    call.reply.simple("    " + std::string(each.help));
  }
  call.reply.simple("HELP");
  call.reply.simple("    Print this help.");
}

[[gnu::noinline]] const subcommand& find_subcommand(const command& of, const request& arguments) {
  static constexpr subcommand help{"help", 2, reply_help, "HELP", "Print this help."};
  const subcommand* found = equals_ignoring_case(arguments[1], help.name) ? &help : nullptr;
  for (const subcommand& each : *of.choices) {
    found = equals_ignoring_case(arguments[1], each.name) ? &each : found;
  }
  if (found != nullptr) {
    if (!has_arity(arguments, found->arity)) {
      fail_arity(std::string(of.name) + "|" + std::string(found->name));
    }
    return *found;
  }
  fail("ERR unknown subcommand '" + std::string(until_zero(arguments[1], 128)) + "'. Try " +
       upper_case(of.name) + " HELP.");
}

// A web page can make a browser send requests to this port. As in Redis, the first line or header that only
// HTTP has closes the connection.
struct http_request {};

bool is_http(std::string_view name) {
  return equals_ignoring_case(name, "post") || equals_ignoring_case(name, "host:");
}

// What seldom happens has functions of its own: every idle connection keeps the stack that its deepest
// command has touched.

// The command that is asked for, if it may be run now.
const command& accept(const request& arguments, const server_state& server, const client& from) {
  const command* found = find_command(arguments[0]);
  if (found == nullptr) [[unlikely]] {
    if (is_http(arguments[0])) {
      throw http_request();
    }
    fail_unknown_command(arguments);
  }
  if (!has_arity(arguments, found->arity)) [[unlikely]] {
    fail_arity(found->name);
  }
  check_at_once(arguments.size());
  if (found->choices != nullptr && arguments.size() > 1) [[unlikely]] {
    find_subcommand(*found, arguments);  // fails if there is none
  }
  if ((found->flags & flag::denyoom) != 0 && is_out_of_memory(server)) [[unlikely]] {
    fail(out_of_memory);
  }
  if (from.subscriptions != 0 && (found->flags & flag::subscriber) == 0) [[unlikely]] {
    fail_subscriber(found->name);
  }
  return *found;
}

[[gnu::noinline]] void enqueue(const command& found, invocation& call) {
  transaction& queued = *call.from.queued;
  check_at_once(queued.arguments + call.arguments.size());
  queued.requests.emplace_back(found, call.arguments);
  queued.arguments += call.arguments.size();
  call.from.state_memory += call.from.queued->requests.back().memory();
  call.reply.simple("QUEUED");
}

void execute_one(invocation& call) {
  const command& found = accept(call.arguments, call.server, call.from);
  if (call.from.queued != nullptr && (found.flags & flag::at_once) == 0) [[unlikely]] {
    enqueue(found, call);
  } else {
    found.run(call);
  }
}

}  // namespace

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  if (text.size() != lower_case.size()) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if ((byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte) != lower_case[i]) {
      return false;
    }
  }
  return true;
}

const command* find_command(std::string_view name) {
  return commands_by_name.find(name);
}

void fail(std::string_view text) {
  throw command_error{std::string(text)};
}

void fail_arity(std::string_view name) {
  fail("ERR wrong number of arguments for '" + std::string(name) + "' command");
}

bool is_out_of_memory(const server_state& server) {
  return server.config.max_memory != 0 && server.keys.used_memory() > server.config.max_memory;
}

void check_room(const server_state& server, std::size_t bytes) {
  const std::size_t most = server.config.max_memory;
  if (most != 0 && (bytes > most || server.keys.used_memory() > most - bytes)) {
    fail(out_of_memory);
  }
}

void check_at_once(std::size_t elements) {
  if (elements > most_at_once) [[unlikely]] {
    fail("ERR too much at once: a command or transaction may have 16384 arguments and change 16384 elements");
  }
}

void run(const command& found, invocation& call) {
  const std::size_t begin = call.reply.position();
  try {
    if ((found.flags & flag::denyoom) != 0 && is_out_of_memory(call.server)) {
      fail(out_of_memory);
    }
    found.run(call);
  } catch (const command_error& error) {
    call.reply.error(error.text);
  } catch (const std::bad_alloc&) {
    call.reply.back_to(begin);
    call.reply.raw(no_memory_left);
  }
}

void execute(const request& arguments, server_state& server, client& from, reply_writer& reply) {
  ++server.stats.commands_processed;
  invocation call{arguments, server, from, reply};
  const bool was_queueing = from.queued != nullptr;
  const std::size_t begin = reply.position();
  try {
    execute_one(call);
    if (server.blocked.has_news()) [[unlikely]] {
      server.blocked.serve(server);
    }
    return;
  } catch (const http_request&) {
    from.broken = from.quit = true;
    return;
  } catch (const command_error& error) {
    reply.error(error.text);
  } catch (const std::bad_alloc&) {
    reply.back_to(begin);
    reply.raw(no_memory_left);
  }
  if (was_queueing && from.queued != nullptr) {
    from.queued->failed = true;
  }
}

void leave(invocation& call, std::unique_ptr<computation> rest) {
  if (!call.from.in_exec) {
    call.from.computing = std::move(rest);
    return;
  }
  check_at_once(rest->size(call.server));
  computation::step next;
  while ((next = rest->go_on(call.server, call.reply)) != computation::step::done) {
    if (next == computation::step::compute) {
      rest->compute();
    }
  }
}

computation::step go_on(server_state& server, client& from, reply_writer& reply) {
  try {
    const computation::step next = from.computing->go_on(server, reply);
    if (next != computation::step::done) {
      return next;
    }
  } catch (const command_error& error) {
    reply.error(error.text);
  } catch (const std::bad_alloc&) {
    reply.raw(no_memory_left);
  }
  from.computing.reset();
  try {
    server.blocked.serve(server);
  } catch (const std::bad_alloc&) {
    // The next one to push serves them.
  }
  return computation::step::done;
}

void run_subcommand(invocation& call) {
  find_subcommand(*find_command(call.arguments[0]), call.arguments).run(call);
}

}  // namespace kv
