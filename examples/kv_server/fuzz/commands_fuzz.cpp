// Fuzz target: the commands and the store. The input is a sequence of commands of three clients, and of what
// else happens to a server (command_input.hpp). After each command: its reply is one whole reply; a command
// that fails or only reads has changed nothing; what has changed has another version; and where the model
// knows the command, both its reply and what it did are as the model has it.
//
// With SENNIT_FUZZ_PRINT=1 the commands and replies are printed.
#include <cstdio>
#include <cstdlib>

#include "command_input.hpp"
#include "resp.hpp"
#include "snapshot.hpp"
#include "world.hpp"

namespace kv::fuzz {

namespace {

constexpr int most_steps = 200;

std::string printed(const words& arguments) {
  std::string text;
  for (const std::string& each : arguments) {
    text += quoted(each.substr(0, 200)) + ' ';
  }
  return text;
}

void note(const std::string& text) {
  static const bool wanted = std::getenv("SENNIT_FUZZ_PRINT") != nullptr;
  if (wanted) {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

std::string encode(const words& arguments) {
  std::string text = "*" + std::to_string(arguments.size()) + "\r\n";
  for (const std::string& each : arguments) {
    text += "$" + std::to_string(each.size()) + "\r\n" + each + "\r\n";
  }
  return text;
}

settings choose_settings(std::uint8_t byte) {
  settings chosen;
  chosen.max_output = std::size_t{256} << 10;
  chosen.protocol.max_bulk = max_string;
  if ((byte & 2) != 0) {
    chosen.max_memory = 4000;
  }
  if ((byte & 4) != 0) {
    chosen.max_memory_clients = std::size_t{256} << 10;
    chosen.max_pushed = 4096;
  }
  return chosen;
}

bool is_sorted_alike(reply expected, reply got, bool any_order) {
  if (any_order) {
    const auto before = [](const reply& one, const reply& other) { return one.text < other.text; };
    std::sort(expected.elements.begin(), expected.elements.end(), before);
    std::sort(got.elements.begin(), got.elements.end(), before);
  }
  return expected == got;
}

bool is_queued(const reply& got) {
  return got.type == '+' && got.text == "QUEUED";
}

class commands_run {
public:
  explicit commands_run(std::uint8_t options)
      : details_((options & 1) == 0), world_(choose_settings(options)), before_(copy()) {}

  void take(const step& next);
  void end() {
    check_scan();
    world_.end();
  }

private:
  keyspace copy() { return copy_of(world_.keys(), details_); }
  void run_command(const step& next);
  void check_reply(const words& arguments, const keyspace& after, const std::string& received);
  void check_change(const words& arguments, const keyspace& after, const reply& got);
  void check_versions(const keyspace& after) const;
  void check_model(const words& arguments, const keyspace& after, const reply& got);
  void go_on_with_scan(std::uint8_t count);
  void check_scan();
  void keep_scanned(const keyspace& now);
  void flush();
  [[noreturn]] void fail(std::string_view property, const words& arguments, const keyspace& after,
                         const std::string& details) const;

  bool details_;
  world world_;
  keyspace before_;
  std::size_t client_ = 0;
  // A scan under way: where it is, what it has shown, and which keys have been there all the time.
  std::string cursor_ = "0";
  std::set<std::string> scanned_, there_since_;
};

void commands_run::fail(std::string_view property, const words& arguments, const keyspace& after,
                        const std::string& details) const {
  broken(property,
         printed(arguments) + "\nbefore:\n" + printed(before_) + "after:\n" + printed(after) + details);
}

void commands_run::take(const step& next) {
  switch (next.what) {
    case event::command:
      run_command(next);
      break;
    case event::time_passes:
      note("-- " + std::to_string(step_of_time(next.number)) + " ms pass");
      world_.pass(step_of_time(next.number));
      break;
    case event::keys_expire:
      world_.keys().expire_some(next.number == 0 ? SIZE_MAX : next.number);
      break;
    case event::other_client:
      client_ = next.number % world::peers;
      note("-- client " + std::to_string(client_));
      break;
    case event::client_leaves:
      note("-- leaves");
      world_.disconnect(client_);
      break;
    case event::client_stream_ends:
      world_.at(client_).end_stream();
      break;
    case event::wait_is_over:
      world_.at(client_).time_out();
      break;
    case event::scan_goes_on:
      go_on_with_scan(next.number);
      break;
    case event::everything_flushed:
      flush();
      break;
  }
  if (world_.settle() || next.what != event::command) {
    before_ = copy();
  }
  keep_scanned(before_);
}

void commands_run::run_command(const step& next) {
  peer& client = world_.at(client_);
  parse_replies(client.take_received());
  const bool alone = !client.is_in_company() && world_.server().blocked.size() == 0;
  note(printed(next.arguments));
  client.send(encode(next.arguments), next.piece);
  std::string received = client.take_received();
  note("    " + quoted(received.substr(0, 300)));
  if (is_planted("property") && next.arguments[0] == "strlen" && received != ":0\r\n") {
    received = ":4\r\n";
  }
  keyspace after = copy();
  if (alone && !client.is_in_company() && !client.closed()) {
    check_reply(next.arguments, after, received);
  } else {
    parse_replies(received);
  }
  before_ = std::move(after);
}

void commands_run::check_reply(const words& arguments, const keyspace& after, const std::string& received) {
  const std::vector<reply> replies = parse_replies(received);
  // As many as there are channels to leave; EXEC's, after what was published in it to the client itself.
  const bool may_be_more = arguments[0].find("unsubscribe") != std::string::npos || arguments[0] == "exec";
  if (replies.empty() || (replies.size() > 1 && !may_be_more)) {
    fail("a command has one reply", arguments, after, quoted(received));
  }
  check_change(arguments, after, replies[0]);
  check_model(arguments, after, replies[0]);
}

void commands_run::check_change(const words& arguments, const keyspace& after, const reply& got) {
  const command* found = find_command(arguments[0]);
  const bool reads = found == nullptr || (found->flags & flag::readonly) != 0;
  if (reads || is_queued(got) || is_error(got)) {
    const auto same = [](const auto& one, const auto& other) {
      return one.first == other.first && one.second.same(other.second) &&
             one.second.version == other.second.version;
    };
    if (!std::equal(before_.begin(), before_.end(), after.begin(), after.end(), same)) {
      fail("a command that reads, fails or is queued changes nothing", arguments, after, printed(got));
    }
  }
  if (details_) {
    check_versions(after);
  }
}

void commands_run::check_versions(const keyspace& after) const {
  for (const auto& [key, value] : after) {
    const auto old = before_.find(key);
    if (old != before_.end() && !old->second.same(value)) {
      require(old->second.version != value.version, "what has changed has another version");
    }
  }
}

void commands_run::check_model(const words& arguments, const keyspace& after, const reply& got) {
  const bool is_refused = is_queued(got) || (is_error(got) && got.text.starts_with("OOM "));
  const command* found = find_command(arguments[0]);
  if (!details_ || is_refused || found == nullptr || arguments[0] != found->name ||
      (found->arity > 0 ? arguments.size() != static_cast<std::size_t>(found->arity)
                        : arguments.size() < static_cast<std::size_t>(-found->arity))) {
    return;
  }
  keyspace expected_keys = before_;
  const auto expected = predict(arguments, expected_keys, world::now());
  if (!expected) {
    return;
  }
  const reply& answer = expected->answer;
  if (is_error(answer) ? !is_error(got) || !got.text.starts_with(answer.text + " ")
                       : !is_sorted_alike(answer, got, expected->any_order)) {
    fail("the reply is the model's", arguments, after,
         "expected: " + printed(answer) + "\nreply:    " + printed(got));
  }
  const auto same = [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.same(other.second);
  };
  if (!is_error(answer) &&  // otherwise nothing has changed, as for any command
      !std::equal(expected_keys.begin(), expected_keys.end(), after.begin(), after.end(), same)) {
    fail("the store is as the model's", arguments, after, "expected:\n" + printed(expected_keys));
  }
}

void commands_run::keep_scanned(const keyspace& now) {
  std::erase_if(there_since_, [&](const std::string& key) { return !now.contains(key); });
}

// One more step of the scan, by a client of its own.
void commands_run::go_on_with_scan(std::uint8_t count) {
  if (cursor_ == "0") {
    scanned_.clear();
    there_since_.clear();
    for (const auto& [key, value] : before_) {
      there_since_.insert(key);
    }
  }
  peer scanner(world_.server(), 99);
  scanner.send(encode({"SCAN", cursor_, "COUNT", std::to_string(count + 1U)}));
  const std::vector<reply> got = parse_replies(scanner.take_received());
  require(got.size() == 1 && got[0].elements.size() == 2, "SCAN replies a cursor and keys");
  cursor_ = got[0].elements[0].text;
  for (const reply& each : got[0].elements[1].elements) {
    require(before_.contains(each.text), "SCAN shows keys that are there");
    scanned_.insert(each.text);
  }
  if (cursor_ == "0") {
    require(std::includes(scanned_.begin(), scanned_.end(), there_since_.begin(), there_since_.end()),
            "SCAN shows every key that is there from beginning to end");
  }
}

void commands_run::check_scan() {
  for (int i = 0; i < 1000 && cursor_ != "0"; ++i) {
    go_on_with_scan(9);
  }
  require(cursor_ == "0", "a scan comes to an end");
}

void commands_run::flush() {
  peer flusher(world_.server(), 98);
  flusher.send(encode({"FLUSHALL"}));
  require(flusher.take_received() == "+OK\r\n", "FLUSHALL is done");
  require(world_.keys().size() == 0 && world_.keys().expiring() == 0, "FLUSHALL leaves no key");
  const store fresh;
  require(world_.keys().used_memory() == fresh.used_memory(), "FLUSHALL gives all memory back");
}

void run(reader input) {
  commands_run one(input.byte());
  for (int i = 0; i < most_steps && !input.empty(); ++i) {
    one.take(read_step(input));
  }
  one.end();
}

}  // namespace

}  // namespace kv::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  kv::fuzz::check_command_names();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kv::fuzz::begin({reinterpret_cast<const char*>(data), size});
  kv::fuzz::run({data, size});
  return 0;
}
