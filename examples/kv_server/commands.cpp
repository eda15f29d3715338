// Looks up, checks and executes commands.
#include "commands.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <new>

#include "integer.hpp"

namespace kv {

namespace {

char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
}

bool has_arity(const request& arguments, int arity) {
  const auto count = static_cast<std::ptrdiff_t>(arguments.size());
  return arity >= 0 ? count == arity : count >= -arity;
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

// A web page can make a browser send requests to this port. As in Redis, the first line or header that only
// HTTP has closes the connection.
bool is_http(std::string_view name) {
  return equals_ignoring_case(name, "post") || equals_ignoring_case(name, "host:");
}

// A command may exceed --maxmemory by its own arguments only. A key takes up to 1,024 bytes besides, with
// an empty list, and each argument up to 104 for its node in a collection.
void check_memory(const command& found, const invocation& call) {
  if ((found.flags & denyoom) != 0) {
    check_room(call.server, 1024 + 104 * call.arguments.size());
  }
}

// Returns the command if it may run, and nullptr for HTTP. Rare cases have functions of their own, so that
// the usual path uses little stack.
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
  check_memory(*found, call);
  if (!call.from.channels.empty() && (found->flags & subscriber) == 0) [[unlikely]] {
    fail_subscriber(found->name);
  }
  return found;
}

[[gnu::noinline]] void enqueue(const command& found, invocation& call) {
  transaction& queued = *call.from.queued;
  std::string text = "*" + std::to_string(call.arguments.size()) + "\r\n";
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string_view each = call.arguments[i];
    text.append("$").append(std::to_string(each.size())).append("\r\n").append(each).append("\r\n");
  }
  check_bound(call, "A transaction", queued.arguments + call.arguments.size(),
              queued.text.size() + text.size());
  queued.text += text;
  ++queued.requests;
  queued.flags |= found.flags;
  queued.arguments += call.arguments.size();
  call.from.state_memory += 2 * text.size();  // of its capacity, about
  call.reply.simple("QUEUED");
}

void execute_one(invocation& call) {
  const command* found = accept(call);
  if (found == nullptr) {
    call.from.broken = call.from.quit = true;
  } else if (call.from.queued != nullptr && (found->flags & at_once) == 0) [[unlikely]] {
    enqueue(*found, call);
  } else {
    found->run(call);
  }
}

// Replies with the error of a command that fails. Returns whether it succeeds.
template <class Run>
bool guarded(invocation& call, Run run) {
  const std::size_t begin = call.reply.position();
  try {
    run();
    return true;
  } catch (const command_error& error) {
    call.reply.back_to(begin);
    call.reply.error(error.text);
  } catch (const std::bad_alloc&) {
    call.reply.back_to(begin);
    call.reply.error(out_of_memory);
  }
  return false;
}

}  // namespace

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(),
                    [](char byte, char other) { return lower(byte) == other; });
}

std::string_view until_zero(std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  return text.substr(0, text.find('\0'));
}

const command* find_command(std::string_view name) {
  const char first = name.empty() ? '\0' : lower(name[0]);
  const std::span<const command> all = all_commands();
  auto at = std::partition_point(all.begin(), all.end(), [&](auto& each) { return each.name[0] < first; });
  for (; at != all.end() && at->name[0] == first; ++at) {
    if (equals_ignoring_case(name, at->name)) {
      return &*at;
    }
  }
  return nullptr;
}

void fail(std::string_view text) {
  throw command_error{std::string(text)};
}

void fail_arity(std::string_view name) {
  fail("ERR wrong number of arguments for '" + std::string(name) + "' command");
}

bool is_out_of_memory(const server_state& server) {
  return server.config.max_memory != 0 && memory_in_use > server.config.max_memory;
}

void check_room(const server_state& server, std::size_t bytes) {
  const std::size_t most = server.config.max_memory;
  if (most != 0 && (bytes > most || memory_in_use > most - bytes)) {
    fail(out_of_memory);
  }
}

void check_bound(const invocation& call, std::string_view what, std::size_t elements, std::size_t bytes) {
  const protocol_limits& most = call.server.config.protocol;
  if (elements > most.most_elements || bytes > most.max_request) [[unlikely]] {
    fail("ERR " + std::string(what) + " is limited to " + std::to_string(most.most_elements) +
         " elements and " + std::to_string(most.max_request) +
         " bytes: split it, or raise --most-elements or --client-query-buffer-limit");
  }
}

void count(invocation& call, std::size_t elements, std::size_t bytes) {
  usage& used = call.from.used;
  check_bound(call, "A command (SORT: 64 count as 1)", used.elements + elements, used.bytes + bytes);
  used.elements += elements;
  used.bytes += bytes;
}

void execute(invocation& call) {
  const bool was_queueing = call.from.queued != nullptr;
  call.from.used = {};
  const bool done = guarded(call, [&] {
    execute_one(call);
    if (call.server.blocked.has_news()) [[unlikely]] {
      call.server.blocked.serve(call.server);
    }
  });
  if (!call.server.to_wake.empty()) [[unlikely]] {
    wake_some(call.server, most_woken);
  }
  if (!done && was_queueing && call.from.queued != nullptr) {
    call.from.queued->failed = true;
  }
}

void execute_queued(const command& found, invocation& call) {
  guarded(call, [&] {
    check_memory(found, call);
    count(call, 0);  // fails if an earlier command has used up the bytes
    found.run(call);
  });
}

std::int64_t integer_argument(const invocation& call, std::size_t index) {
  const auto number = parse_integer(call.arguments[index]);
  if (!number) {
    fail(not_an_integer);
  }
  return *number;
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
