// Finding a command, checking it, and running it in one piece or in turns.
#include "commands.hpp"

#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "integer.hpp"

namespace kv {

namespace {

// The first eight bytes of a name as one word, in lower case, zeros behind a shorter one.
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
  constexpr std::uint64_t each = 0x0101010101010101;
  const std::uint64_t low_bits = word & (each * 0x7f);
  const std::uint64_t from_a = low_bits + each * (0x80 - 'A');         // top bit: byte >= 'A'
  const std::uint64_t after_z = low_bits + each * (0x80 - ('Z' + 1));  // top bit: byte > 'Z'
  return word | (from_a & ~after_z & ~word & (each * 0x80)) >> 2;      // 0x80 >> 2 == 0x20
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
    const std::uint64_t word = name_word(name);
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
portions reply_help(invocation& call) {
  std::vector<std::string> lines;
  for (const subcommand& each : all_subcommands()) {
    if (equals_ignoring_case(call.arguments[0], each.of)) {
      lines.emplace_back(upper_case(each.of) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
      lines.emplace_back(each.usage);
      lines.emplace_back("    " + std::string(each.help));
    }
  }
  lines.insert(lines.end(), {"HELP", "    Print this help."});
  call.reply.array(lines.size());
  for (const std::string& line : lines) {
    call.reply.simple(line);
  }
  co_return;
}

// nullptr: the command has no subcommands. Fails if it has some, but not this one.
[[gnu::noinline]] const subcommand* find_subcommand(std::string_view of, const request& arguments) {
  static constexpr subcommand help{{}, "help", 2, {}, {}, reply_help};
  const subcommand* found = nullptr;
  bool has_some = false;
  for (const subcommand& each : all_subcommands()) {
    if (each.of == of) {
      has_some = true;
      found = equals_ignoring_case(arguments[1], each.name) ? &each : found;
    }
  }
  if (has_some && found == nullptr) {
    if (!equals_ignoring_case(arguments[1], help.name)) {
      fail("ERR unknown subcommand '" + std::string(until_zero(arguments[1], 128)) + "'. Try " +
           upper_case(of) + " HELP.");
    }
    found = &help;
  }
  if (found != nullptr && !has_arity(arguments, found->arity)) {
    fail_arity(std::string(of) + "|" + std::string(found->name));
  }
  return found;
}

// A web page can make a browser send requests to this port. As in Redis, the first line or header that only
// HTTP has closes the connection.
bool is_http(std::string_view name) {
  return equals_ignoring_case(name, "post") || equals_ignoring_case(name, "host:");
}

// The command that is asked for, if it may be run now; nullptr: HTTP. What seldom happens has functions of
// its own: every idle connection keeps the stack that its deepest command has touched.
const command* accept(const invocation& call) {
  const request& arguments = call.arguments;
  const command* found = find_command(arguments[0]);
  if (found == nullptr) [[unlikely]] {
    if (is_http(arguments[0])) {
      return nullptr;
    }
    fail_unknown_command(arguments);
  }
  if (!has_arity(arguments, found->arity)) [[unlikely]] {
    fail_arity(found->name);
  }
  if (found->by.begin == handlers::run_subcommand) [[unlikely]] {
    find_subcommand(found->name, arguments);
  }
  check_memory(*found, call);
  if (call.from.subscriptions != 0 && (found->flags & subscriber) == 0) [[unlikely]] {
    fail_subscriber(found->name);
  }
  return found;
}

[[gnu::noinline]] void enqueue(const command& found, invocation& call) {
  transaction& queued = *call.from.queued;
  const std::size_t memory = queued.requests.emplace_back(found, call.arguments).memory();
  queued.flags |= found.flags;
  queued.arguments += call.arguments.size();
  queued.memory += memory;
  call.from.state_memory += memory;
  call.reply.simple("QUEUED");
}

step execute_one(invocation& call) {
  const command* found = accept(call);
  if (found == nullptr) {
    call.from.broken = call.from.quit = true;
    return step::done;
  }
  if (call.from.queued != nullptr && (found->flags & at_once) == 0) [[unlikely]] {
    enqueue(*found, call);
    return step::done;
  }
  if (call.server.claims.any() && has_to_wait(*found, call)) [[unlikely]] {
    return step::more;
  }
  if (found->by.begin != nullptr) {
    return start_in_turns(*found, call);
  }
  found->by.run(call);
  return step::done;
}

}  // namespace

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(), [](char byte, char lower) {
           return (byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte) == lower;
         });
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

step execute(invocation& call) {
  const bool was_queueing = call.from.queued != nullptr;
  const std::size_t begin = call.reply.position();
  try {
    const step next = execute_one(call);
    serve_blocked(call.server);
    return next;
  } catch (const command_error& error) {
    call.reply.error(error.text);
  } catch (const std::bad_alloc&) {
    call.reply.back_to(begin);
    call.reply.error(out_of_memory);
  }
  if (was_queueing && call.from.queued != nullptr) {
    call.from.queued->failed = true;
  }
  return step::done;
}

portions handlers::run_subcommand(invocation& call) {
  return find_subcommand(find_command(call.arguments[0])->name, call.arguments)->begin(call);
}

std::int64_t integer_argument(const invocation& call, std::size_t index, std::string_view error) {
  const auto number = parse_integer(call.arguments[index]);
  if (!number) {
    fail(error);
  }
  return *number;
}

std::size_t count_argument(const invocation& call, std::size_t index) {
  const std::int64_t number = integer_argument(call, index, not_positive);
  if (number < 0) {
    fail(not_positive);
  }
  return static_cast<std::size_t>(number);
}

std::optional<double> parse_double(std::string_view text) {
  if (text.empty() || text.size() > 5000 || std::isspace(static_cast<unsigned char>(text[0])) != 0) {
    return std::nullopt;
  }
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(terminated.c_str(), &end);
  const bool out_of_range = errno == ERANGE && (std::isinf(number) || std::fpclassify(number) == FP_ZERO);
  if (end != terminated.c_str() + text.size() || out_of_range || std::isnan(number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace kv
