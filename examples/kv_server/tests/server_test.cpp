// The store, and sessions without connections: what the tests in Python cannot reach. Those compare replies
// with redis-server's; these look at the bounds of commands, at turns, and at accounts of memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session.hpp"
#include "siphash.hpp"

namespace kv {
namespace {

constexpr int most = 100;  // elements of a command, in most tests
const std::string oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// An array of bulk strings: a request, or a reply.
std::string encode(const std::vector<std::string>& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& each : words) {
    text += bulk(each);
  }
  return text;
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

// The words, and the numbers from `first` to before `end`.
std::string numbers(std::vector<std::string> words, int first, int end) {
  for (int i = first; i < end; ++i) {
    words.push_back(std::to_string(i));
  }
  return encode(words);
}

class test_client final : public front {
public:
  explicit test_client(server_state& server) : session_(server, server.shared, *this) {}

  void wake() override { woken_ = true; }
  void break_off() override {}
  bool is_gone() override { return false; }

  // Sends the bytes and processes once what has arrived. Returns the replies.
  std::string begin(std::string_view bytes) {
    std::string replies;
    while (!bytes.empty() && !is_closed()) {
      const std::span<char> space = session_.receive_space();
      const std::size_t count = std::min(space.size(), bytes.size());
      std::memcpy(space.data(), bytes.data(), count);
      session_.received(count);
      bytes.remove_prefix(count);
      replies += step();
    }
    return replies;
  }
  // Executes all of it.
  std::string send(std::string_view bytes) {
    std::string replies;
    for (; !bytes.empty() && !is_closed(); bytes.remove_prefix(std::min(bytes.size(), at_once))) {
      replies += begin(bytes.substr(0, at_once));
      replies += finish();
    }
    return replies;
  }
  // Computes, or processes once.
  std::string step() {
    if (outcome_ == session::outcome::compute) {
      session_.compute();
    }
    outcome_ = session_.process();
    std::string replies(session_.output());
    session_.output_sent();
    return replies;
  }
  // Continues until it is done.
  std::string finish() {
    std::string replies;
    while (!is_done()) {
      replies += step();
    }
    return replies;
  }
  bool is_done() const { return outcome_ == session::outcome::wait || is_closed(); }
  bool is_woken() const { return woken_; }
  bool is_closed() const { return outcome_ == session::outcome::close; }

private:
  static constexpr std::size_t at_once = 4096;  // bytes; fewer than there is space for

  bool woken_ = false;
  session session_;
  session::outcome outcome_ = session::outcome::wait;
};

// A server and two clients.
struct world {
  explicit world(const settings& config = {}) : state(std::make_unique<server_state>(config)) {}

  std::string ask(const std::string& line) { return test_client(*state).send(line + "\r\n"); }

  std::unique_ptr<server_state> state;
  test_client one{*state}, other{*state};
};

TEST(store, a_change_removes_what_is_empty_and_sets_the_flags_of_watchers) {
  store keys;
  const std::size_t empty = memory_in_use;
  bool changed = false;
  keys.watch("l", changed);
  {
    change<list_value> list(keys, "l");
    EXPECT_FALSE(list);
    list.or_create().emplace_back(std::string(1000, 'x'));
  }
  EXPECT_TRUE(std::exchange(changed, false));
  EXPECT_GE(memory_in_use, empty + 1000);
  change<list_value>(keys, "l").unchanged();
  keys.set("other", "x");
  EXPECT_FALSE(changed);
  change<list_value>(keys, "l")->pop_back();
  EXPECT_TRUE(std::exchange(changed, false));
  EXPECT_EQ(keys.find("l"), nullptr);
  keys.unwatch("l", changed);
  keys.set("l", "x");
  EXPECT_FALSE(changed);
}

TEST(store, destroys_removed_values_some_elements_at_a_time) {
  store keys;
  const std::size_t empty = memory_in_use;
  const auto fill = [&] {
    auto list = std::make_unique<list_value>();
    for (std::size_t i = 0; i < 1000; ++i) {
      keys.set(std::to_string(i), "1");
      list->emplace_back(std::string(100, 'x'));
    }
    keys.create("list", std::move(list));
  };
  const auto count_steps = [&] {
    int steps = 1;
    for (; keys.destroy_garbage(100); ++steps) {
    }
    return steps;
  };
  fill();
  const std::size_t full = memory_in_use;
  EXPECT_TRUE(keys.erase("list"));
  EXPECT_GT(memory_in_use + 1000, full);  // it still counts
  EXPECT_EQ(count_steps(), 10);
  EXPECT_LT(memory_in_use + 100000, full);
  for (int i = 0; i < 3; ++i) {
    fill();
    keys.clear();
    keys.destroy_garbage(100);
    EXPECT_EQ(keys.size(), 0U);
  }
  keys.set("large", std::string(1000000, 'x'));
  keys.set("large", "small");
  EXPECT_GT(memory_in_use, 1000000U);
  keys.clear();
  EXPECT_GE(count_steps(), 60);
  EXPECT_EQ(memory_in_use, empty);
}

TEST(siphash, gives_the_published_value) {
  const siphash_key key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const std::string_view input("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15);
  EXPECT_EQ((siphash<2, 4>(key, input)), 0xa129ca6149be45e5U);
}

TEST(session, bounds_requests_and_replies) {
  settings config;
  config.protocol.max_request = config.max_output = 200000;
  config.max_memory_clients = 1000000;
  const std::string exceeds = "-ERR Protocol error: request exceeds client-query-buffer-limit\r\n";
  const std::array<std::string, 3> rows[] = {
      {"", "*2\r\n$4\r\nECHO\r\n$200000\r\n", exceeds},
      {"", "*4096\r\n" + repeat("$100\r\n" + std::string(102, 'x'), 4096), exceeds},
      {"SET k " + std::string(30000, 'x') + "\r\n", repeat("GET k\r\n", 6) + "*1\r\n$-1\r\n",
       repeat(bulk(std::string(30000, 'x')), 6) + "-ERR Protocol error: invalid bulk length\r\n"},
      {repeat(encode({"RPUSH", "l", std::string(50000, 'x')}), 5), "LRANGE l 0 -1\r\n", ""},
  };
  for (const auto& [before, sent, replied] : rows) {
    world all(config);
    all.one.send(before);
    const std::string got = all.one.send(sent);
    EXPECT_EQ(got.substr(0, replied.size()), replied);
    EXPECT_LE(got.size(), config.max_output);
    EXPECT_TRUE(all.one.is_closed()) << sent.substr(0, 60);
  }
}

TEST(maxmemory, is_passed_by_no_command_by_more_than_its_arguments) {
  settings config;
  config.max_memory = 1000000;
  for (const std::string name : {"RPUSH", "SADD", "HSET", "ZADD", "MSET"}) {
    world all(config);
    std::string reply;
    for (int round = 0; round < 100 && reply != oom; ++round) {
      std::vector<std::string> words{name};
      std::size_t bytes = 0;
      for (int i = 0; i < (name == "HSET" || name == "ZADD" ? 4001 : 4002); ++i) {
        bytes += words.emplace_back(std::to_string(round * 10000 + i)).size();
      }
      reply = all.one.send(encode(words));
      EXPECT_LE(memory_in_use, config.max_memory + bytes) << name;
    }
    EXPECT_EQ(reply, oom) << name;
    EXPECT_EQ(all.ask("GET missing"), "$-1\r\n");
  }
}

TEST(maxmemory, holds_for_results_and_transactions) {
  settings config;
  config.max_memory = 1000000;
  world all(config);
  for (int i = 0; i < 6; ++i) {
    all.one.send(encode({"SADD", "s", std::to_string(i) + std::string(100000, 'x')}));
  }
  EXPECT_EQ(all.ask("SUNIONSTORE to s\r\nDEL to"), oom + ":0\r\n");
  while (all.state->keys.destroy_garbage(100)) {
  }
  const std::string set = encode({"SET", "k", std::string(500000, 'x')});
  EXPECT_EQ(all.one.send("MULTI\r\n" + set + "SET other x\r\nGET other\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n" + oom + "$-1\r\n");
  EXPECT_EQ(all.ask("MULTI\r\nGET other\r\nINCR n\r\nEXEC"),
            "+OK\r\n+QUEUED\r\n" + oom + "-EXECABORT Transaction discarded because of previous errors.\r\n");
}

const std::string limited =
    "-ERR A command (SORT: 64 count as 1) is limited to 100 elements and 16777216 bytes: ";

TEST(a_command, that_is_too_large_is_refused_with_the_remedy_and_changes_nothing) {
  const std::string arguments =
      "-ERR Protocol error: invalid multibulk length: at most 100 arguments; send several";
  const std::pair<std::string, std::string> rows[] = {
      // sent, and how the reply begins
      {numbers({"SADD", "new"}, 0, most - 1), arguments},
      {numbers({"SADD", "set"}, 0, most - 2), ":0\r\n"},
      {"SMEMBERS set\r\n", "*100\r\n"},
      {"SMEMBERS large\r\n",
       limited + "split it, or raise --most-elements or --client-query-buffer-limit\r\n"},
      {"SUNION set one\r\n", limited},
      {"SUNIONSTORE result large\r\n", limited},
      {"SINTER half large\r\n", "*50\r\n"},
      {"SINTER set large\r\n", limited},
      {"SDIFFSTORE result large half\r\n", limited},
      {"LRANGE list 0 99\r\n", "*100\r\n"},
      {"LRANGE list 0 100\r\n", limited},
      {"SORT list LIMIT 0 1\r\n", encode({"0"})},
      {"SORT long LIMIT 0 1\r\n", limited},
      {numbers({"SUBSCRIBE"}, 0, most - 1) + "SUBSCRIBE x y\r\n", "*3\r\n"},
      {numbers({"WATCH"}, 0, most - 1) + "WATCH x y\r\n",
       "+OK\r\n-ERR The number of keys that a client watches is limited to 100 elements"},
      {"MULTI\r\n" + repeat("INCR n\r\n", most / 2 + 1) + "EXEC\r\n", "+OK\r\n+QUEUED"},
      {"MULTI\r\nLRANGE list 0 59\r\nINCR n\r\nLRANGE list 0 59\r\nINCR n\r\nEXEC\r\n", "+OK\r\n+QUEUED"},
  };
  world all({.protocol = {.most_elements = most}});
  for (int i = 0; i < 7000; i += 70) {
    all.one.send(numbers({"RPUSH", "long"}, i, i + 70));
  }
  for (int i = 0; i < 4 * most; i += 80) {
    all.one.send(numbers({"RPUSH", "list"}, i, i + 80) + numbers({"SADD", "large"}, i, i + 80));
  }
  all.one.send("SADD one x\r\n" + numbers({"SADD", "set"}, 0, most - 2) + "SADD set 98 99\r\n" +
               numbers({"SADD", "half"}, 0, most / 2));
  std::map<std::string, std::string> replies;
  for (const auto& [sent, replied] : rows) {
    const std::string got = replies[sent.substr(0, 15)] = test_client(*all.state).send(sent);
    EXPECT_EQ(got.substr(0, replied.size()), replied) << sent.substr(0, 40);
  }
  EXPECT_EQ(all.ask("SMEMBERS new\r\nSMEMBERS result"), "*0\r\n*0\r\n");
  EXPECT_NE(replies[numbers({"SUBSCRIBE"}, 0, most - 1).substr(0, 15)].find("subscribes to is limited"),
            std::string::npos);
  EXPECT_EQ(all.ask("GET n"), bulk("2"));  // of the last transaction; the one before was not executed
  EXPECT_EQ(all.state->keys.find("result"), nullptr);
}

TEST(a_command, reads_and_publishes_a_limited_number_of_bytes) {
  settings config;
  config.protocol.max_request = 100000;
  world all(config);
  const std::string text(40000, 'x'),
      refused = "-ERR A command (SORT: 64 count as 1) is limited to 4096 elements and 100000 bytes: ";
  all.one.send(repeat(encode({"RPUSH", "l", text}), 3) + encode({"SET", "k", text}));
  for (const std::string line : {"LRANGE l 0 -1", "SORT l ALPHA"}) {
    EXPECT_EQ(all.ask(line).substr(0, refused.size()), refused);
  }
  const std::string replies = all.ask("MULTI\r\nGET k\r\nGET k\r\nGET k\r\nGET k\r\nEXEC");
  EXPECT_NE(replies.find("*4\r\n" + repeat(bulk(text), 3) + refused), std::string::npos);
  all.one.send("SUBSCRIBE news\r\n");
  test_client listeners[2] = {test_client(*all.state), test_client(*all.state)};
  listeners[0].send("SUBSCRIBE news\r\n");
  EXPECT_EQ(all.other.send(encode({"PUBLISH", "news", text})), ":2\r\n");
  listeners[1].send("SUBSCRIBE news\r\n");
  EXPECT_EQ(all.other.send(encode({"PUBLISH", "news", text})).substr(0, refused.size()), refused);
}

TEST(a_session, lets_others_have_their_turn_between_large_commands) {
  world all({.protocol = {.most_elements = most}});
  all.one.send(numbers({"SADD", "set"}, 0, 90));
  const std::string reply = ":90\r\n";
  EXPECT_EQ(all.one.begin(repeat("SUNIONSTORE to set\r\n", 3)), reply);
  EXPECT_FALSE(all.one.is_done());
  EXPECT_EQ(all.ask("DEL to"), ":1\r\n");
  EXPECT_EQ(all.one.finish(), repeat(reply, 2));
}

TEST(a_message, wakes_a_limited_number_of_clients_at_a_time) {
  world all;
  std::deque<test_client> listeners;
  for (std::size_t i = 0; i < most_woken + 2; ++i) {
    listeners.emplace_back(*all.state).send("SUBSCRIBE news\r\n");
  }
  const auto woken = [&] {
    return std::count_if(listeners.begin(), listeners.end(), [](auto& each) { return each.is_woken(); });
  };
  EXPECT_EQ(all.ask("PUBLISH news x"), ":" + std::to_string(most_woken + 2) + "\r\n");
  EXPECT_EQ(woken(), most_woken);
  wake_some(*all.state, 1);
  EXPECT_EQ(woken(), most_woken + 1);
  EXPECT_EQ(listeners.front().step(), encode({"message", "news", "x"}));
  listeners.clear();
  EXPECT_TRUE(all.state->to_wake.empty());
}

TEST(sort, is_computed_while_others_change_the_list_and_is_atomic_in_a_transaction) {
  world all;
  const std::string counted = "computing_clients:1\r\n";
  all.other.send(numbers({"RPUSH", "list"}, 0, 3000));
  EXPECT_EQ(all.one.begin("SORT list DESC LIMIT 0 2\r\nPING\r\n"), "");
  EXPECT_NE(all.ask("INFO").find(counted), std::string::npos);
  EXPECT_EQ(all.ask("RPUSH list 9999"), ":3001\r\n");
  EXPECT_EQ(all.one.finish(), encode({"2999", "2998"}) + "+PONG\r\n");
  EXPECT_EQ(all.one.begin("MULTI\r\nSORT list DESC LIMIT 0 1\r\nLPOP list\r\nEXEC\r\n"),
            "+OK\r\n" + repeat("+QUEUED\r\n", 2) + "*2\r\n" + encode({"9999"}) + bulk("0"));
  EXPECT_EQ(all.ask("INFO").find(counted), std::string::npos);
  {
    test_client gone(*all.state);
    gone.begin("SORT list\r\n");
  }
  EXPECT_EQ(all.ask("INFO").find(counted), std::string::npos);
  EXPECT_EQ(all.state->client_memory, 0U);
}

}  // namespace
}  // namespace kv
