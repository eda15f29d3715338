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

constexpr std::size_t most_keys_at_once = 512;  // more are claimed bit by bit

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

// A command may pass --maxmemory by its own arguments only, so there has to be room for the rest: what a key
// takes, and the nodes of a collection, no more than 104 bytes for each argument.
void check_memory(const command& found, const invocation& call) {
  if ((found.flags & denyoom) != 0) {
    check_room(call.server, 256 + 104 * call.arguments.size());
  }
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
  if (found->begin == handlers::run_subcommand) [[unlikely]] {
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

// The keys of a command, one by one.
class key_cursor {
public:
  key_cursor(const command& of, const invocation& call) : of_(&of), call_(call) {}

  // False: there are no more.
  bool next(std::string_view& key, bool& exclusive) {
    if (of_->keys == keys::of_transaction) {
      return next_of_transaction(key, exclusive);
    }
    return next_of(*of_, call_.arguments, key, exclusive);
  }

private:
  bool next_of_transaction(std::string_view& key, bool& exclusive) {
    if (call_.from.queued == nullptr) {
      return false;
    }
    const std::deque<stored_request>& all = call_.from.queued->requests;
    for (; request_ != all.size(); ++request_, at_ = 1) {
      if (next_of(all[request_].found(), all[request_].arguments(), key, exclusive)) {
        return true;
      }
    }
    return false;
  }

  bool next_of(const command& of, const request& arguments, std::string_view& key, bool& exclusive) {
    if (of.keys == keys::none || of.keys == keys::of_transaction) {
      return false;
    }
    if (of.keys == keys::sort) {
      while (at_ > 1 && at_ < arguments.size() && !equals_ignoring_case(arguments[at_ - 1], "store")) {
        ++at_;
      }
    }
    const std::size_t end = of.keys == keys::first          ? 2
                            : of.keys == keys::first_two    ? 3
                            : of.keys == keys::all_but_last ? arguments.size() - 1
                                                            : arguments.size();
    if (at_ >= end) {
      return false;
    }
    key = arguments[at_];
    exclusive = (of.flags & write) != 0 || ((of.flags & write_first) != 0 && at_ == 1) ||
                (of.keys == keys::sort && at_ > 1);
    at_ += of.keys == keys::pairs ? 2 : 1;
    return true;
  }

  const command* of_;
  const invocation& call_;
  std::size_t request_ = 0, at_ = 1;
};

bool touches_everything(const command& found, const invocation& call) {
  const bool queued = found.keys == keys::of_transaction && call.from.queued != nullptr;
  return ((queued ? call.from.queued->flags : found.flags) & touches_all) != 0;
}

std::size_t most_keys(const command& found, const invocation& call) {
  if (found.keys == keys::of_transaction) {
    return call.from.queued == nullptr ? 0 : call.from.queued->arguments;
  }
  return found.keys == keys::none ? 0 : found.keys <= keys::first_two ? 2 : call.arguments.size();
}

// Whether the command has to wait until claims have ended.
[[gnu::noinline]] bool has_to_wait(const command& found, const invocation& call, std::size_t keys) {
  claims& all = call.server.claims;
  if (touches_everything(found, call)) {
    all.everything_wanted = true;
    return true;
  }
  if (keys != 0 && found.begin != nullptr && all.everything_wanted) {
    return true;
  }
  std::string_view key;
  bool exclusive = false;
  for (key_cursor each(found, call); keys <= most_keys_at_once && each.next(key, exclusive);) {
    if (all.block(store::hash_of(key), exclusive)) {
      return true;
    }
  }
  return false;
}

// After the first portion of a command of few keys. Nothing else has been executed since it began.
[[gnu::noinline]] void claim_keys(const command& found, invocation& call, std::size_t keys) {
  auto made = std::make_unique<claim>(call.server.claims, keys);
  made->everything = touches_everything(found, call);
  std::string_view key;
  bool exclusive = false;
  for (key_cursor each(found, call); each.next(key, exclusive);) {
    made->add(store::hash_of(key), exclusive);
  }
  call.from.held = std::move(made);
}

// A command of many keys: claims them bit by bit, then runs it.
portions run_with_many_keys(invocation& call, const command& found) {
  claims& all = call.server.claims;
  while (all.acquiring != nullptr || (all.any() && touches_everything(found, call))) {
    co_yield step::more;
  }
  call.from.held = std::make_unique<claim>(all, most_keys(found, call));
  call.from.held->everything = touches_everything(found, call);
  all.acquiring = call.from.held.get();
  std::string_view key;
  bool exclusive = false;
  budget now;
  for (key_cursor each(found, call); each.next(key, exclusive);) {
    const std::uint64_t hash = store::hash_of(key);
    while (all.block(hash, exclusive, call.from.held.get())) {
      co_yield step::more;
    }
    call.from.held->add(hash, exclusive);
    if (now.spent(key.size())) {
      co_yield step::more;
    }
  }
  all.acquiring = nullptr;
  portions work;
  for (step next = begin(found, call, work); next != step::done; next = go_on(call, work)) {
    co_yield next;
  }
}

void finish(invocation& call) {
  client& from = call.from;
  from.work.reset();
  from.held.reset();
  from.needs_claim = true;
  from.working_memory = 0;
}

// Runs a part of a command; its errors become the reply.
template <class Run>
step guarded(invocation& call, portions& work, Run run) {
  const std::size_t begin = call.reply.position();
  const bool is_first = !work;
  try {
    return run();
  } catch (const command_error& error) {
    call.reply.error(error.text);
  } catch (const std::bad_alloc&) {
    if (is_first) {
      call.reply.back_to(begin);
      call.reply.error(out_of_memory);
    } else {
      call.from.broken = true;  // in the midst of a reply
    }
  }
  work.reset();
  return step::done;
}

// Without memory for the claim, all that is left of the command is done at once.
step start_in_turns(const command& found, invocation& call) {
  client& from = call.from;
  const std::size_t keys = most_keys(found, call);
  const bool many = keys > most_keys_at_once;
  step next = guarded(call, from.work, [&] {
    if (many) {
      from.needs_claim = false;
      from.work = run_with_many_keys(call, found);
      return from.work.resume();
    }
    return begin(found, call, from.work);
  });
  if (next != step::done && from.needs_claim && (keys != 0 || touches_everything(found, call))) {
    try {
      claim_keys(found, call, keys);
    } catch (const std::bad_alloc&) {
      for (; next != step::done; next = go_on(call, from.work)) {
        if (next == step::compute) {
          from.job->run();
        }
      }
    }
  }
  if (next == step::done) {
    finish(call);
  }
  return next;
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
  if (call.server.claims.any() && has_to_wait(*found, call, most_keys(*found, call))) [[unlikely]] {
    return step::more;
  }
  if (found->begin != nullptr) {
    return start_in_turns(*found, call);
  }
  found->run(call);
  return step::done;
}

void serve_blocked(server_state& server) {
  if (server.blocked.has_news()) [[unlikely]] {
    try {
      server.blocked.serve(server);
    } catch (const std::bad_alloc&) {
      // The next command serves them.
    }
  }
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

step go_on(invocation& call) {
  const step next = go_on(call, call.from.work);
  if (next == step::done) {
    finish(call);
    serve_blocked(call.server);
  }
  return next;
}

step begin(const command& found, invocation& call, portions& work) {
  return guarded(call, work, [&] {
    check_memory(found, call);
    if (found.begin == nullptr) {
      found.run(call);
      return step::done;
    }
    portions begun = found.begin(call);
    const step next = begun.resume();
    if (next != step::done) {
      work = std::move(begun);
    }
    return next;
  });
}

step go_on(invocation& call, portions& work) {
  return guarded(call, work, [&] { return work.resume(); });
}

void give_up_claims(invocation& call) {
  if (!call.from.in_exec) {
    call.from.held.reset();
    call.from.needs_claim = false;
  }
}

void give_up_claims_except(invocation& call, std::string_view key) {
  if (!call.from.in_exec) {
    auto less = std::make_unique<claim>(call.server.claims, 1);
    less->add(store::hash_of(key), true);
    call.from.held = std::move(less);
    call.from.needs_claim = false;
  }
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
