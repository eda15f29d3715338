// The store, and sessions without connections: what the tests in Python cannot reach. Those compare replies
// with redis-server's; these look at portions of long commands, at claims, and at accounts of memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session.hpp"
#include "siphash.hpp"

namespace kv {
namespace {

constexpr int much = 5000;  // elements; more than a portion
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

// The words, and the numbers below `much` in another order, each after `before`.
std::string many(std::vector<std::string> words, const std::vector<std::string>& before = {}) {
  for (int i = 0; i < much; ++i) {
    words.insert(words.end(), before.begin(), before.end());
    words.push_back(std::to_string(i * 7919 % much));
  }
  return encode(words);
}

class test_client final : public front {
public:
  explicit test_client(server_state& server) : session_(server, server.shared, 1, *this) {}

  void wake() override {}
  void break_off() override {}
  bool is_gone() override { return false; }

  // Sends the bytes and executes the first portion of what they ask for. Returns the replies.
  std::string begin(std::string_view bytes) {
    std::string replies;
    while (!bytes.empty() && !is_closed()) {
      replies += arrive(bytes);
    }
    return replies;
  }
  // Executes all of it.
  std::string send(std::string_view bytes) {
    std::string replies;
    while (!bytes.empty() && !is_closed()) {
      replies += arrive(bytes);
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
  bool is_closed() const { return outcome_ == session::outcome::close; }

private:
  std::string arrive(std::string_view& bytes) {
    const std::span<char> space = session_.receive_space();
    const std::size_t count = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), count);
    session_.received(count);
    bytes.remove_prefix(count);
    return step();
  }

  session session_;
  session::outcome outcome_ = session::outcome::wait;
};

// A server and three clients.
struct world {
  explicit world(const settings& config = {}) : state(std::make_unique<server_state>(config)) {}

  std::string ask(const std::string& line) { return test_client(*state).send(line + "\r\n"); }

  std::unique_ptr<server_state> state;
  test_client one{*state}, other{*state}, third{*state};
};

// --- the store ---

std::string name(std::size_t number) {
  return std::string(number % 7, '\0') + "key:" + std::to_string(number);
}

std::vector<std::string> all_keys(const store& keys) {
  std::vector<std::string> all;
  keys.for_each_key([&](std::string_view key) { all.emplace_back(key); });
  return all;
}

TEST(store, behaves_as_a_map_and_accounts_for_its_memory) {
  store keys;
  std::map<std::string, std::string> model;
  std::mt19937 random(7);
  for (int round = 0; round < 300000; ++round) {
    // The number of keys swings between few and many, so that the tables grow and shrink.
    const std::string key = name(random() % (round / 50000 % 2 == 0 ? 40000 : 50));
    if (random() % 2 == 0) {
      model[key] = std::string(random() % 40, 'v');
      keys.set(key, model[key]);
    } else {
      ASSERT_EQ(keys.erase(key), model.erase(key) == 1);
    }
    ASSERT_EQ(keys.size(), model.size());
  }
  EXPECT_GT(model.size(), 5000U);
  EXPECT_GE(keys.used_memory(), model.size() * 60);
  for (const std::string& key : all_keys(keys)) {
    EXPECT_EQ(*get_as<std::string>(*keys.find(key)), model.at(key));
    EXPECT_TRUE(keys.erase(key));
    EXPECT_EQ(keys.find(key), nullptr);
    model.erase(key);
  }
  EXPECT_TRUE(model.empty());
  EXPECT_EQ(keys.used_memory(), 0U);
}

TEST(store, an_edit_keeps_the_account_removes_what_is_empty_and_sets_the_flags_of_watchers) {
  store keys;
  bool changed = false;
  keys.watch("l", changed);
  {
    store::edit edit(keys, "l");
    EXPECT_EQ(edit.get(), nullptr);
    get_as<list_value>(edit.create(make_value<list_value>()))->push(list_end::left, std::string(1000, 'x'));
  }
  EXPECT_TRUE(std::exchange(changed, false));
  EXPECT_GE(keys.used_memory(), 1000U);
  store::edit(keys, "l").unchanged();
  keys.set("other", "x");
  EXPECT_FALSE(changed);
  get_as<list_value>(*store::edit(keys, "l").get())->pop(list_end::left);
  EXPECT_TRUE(std::exchange(changed, false));
  EXPECT_EQ(keys.find("l"), nullptr);
  keys.clear();
  EXPECT_FALSE(changed);  // it was not there
  keys.unwatch("l", changed);
  keys.set("l", "x");
  EXPECT_FALSE(changed);
}

TEST(store, destroys_removed_values_some_elements_at_a_time) {
  store keys;
  const auto fill = [&] {
    auto list = std::make_unique<list_value>();
    for (std::size_t i = 0; i < 1000; ++i) {
      keys.set(name(i), "1");
      list->push(list_end::right, std::string(100, 'x'));
    }
    keys.put("list", std::move(list));
  };
  const auto count_steps = [&] {
    int steps = 1;
    for (; keys.destroy_garbage(100); ++steps) {
    }
    return steps;
  };
  fill();
  const std::size_t full = keys.used_memory();
  EXPECT_TRUE(keys.erase("list"));
  EXPECT_GT(keys.used_memory() + 1000, full);  // it still counts
  EXPECT_EQ(count_steps(), 10);
  EXPECT_LT(keys.used_memory() + 100000, full);
  for (int i = 0; i < 3; ++i) {
    fill();
    keys.clear();
    keys.destroy_garbage(100);
    EXPECT_EQ(keys.size(), 0U);
  }
  EXPECT_GE(count_steps(), 60);
  EXPECT_EQ(keys.used_memory(), 0U);
}

TEST(siphash, gives_the_published_value) {
  const siphash_key key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const std::string_view input("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15);
  EXPECT_EQ((siphash<2, 4>(key, input)), 0xa129ca6149be45e5U);
}

// --- bounds ---

TEST(session, bounds_requests_and_replies) {
  settings config;
  config.protocol.max_request = config.max_output = 200000;
  config.max_memory_clients = 1000000;
  struct row {
    std::string before, sent, replied;
  };
  const std::string exceeds = "-ERR Protocol error: request exceeds client-query-buffer-limit\r\n";
  const row rows[] = {
      {"", "*2\r\n$4\r\nECHO\r\n$200000\r\n", exceeds},
      {"", "*2147483647\r\n" + repeat("$0\r\n\r\n", 40000), exceeds},
      {"SET k " + std::string(30000, 'x') + "\r\n", repeat("GET k\r\n", 6) + "*1\r\n$-1\r\n",
       repeat(bulk(std::string(30000, 'x')), 6) + "-ERR Protocol error: invalid bulk length\r\n"},
      {repeat(encode({"RPUSH", "l", std::string(50000, 'x')}), 5), "LRANGE l 0 -1\r\n", ""},
      {"", "MULTI\r\n" + repeat(encode({"SET", "a", std::string(1000, 'x')}), 2000), "+OK"},
  };
  for (const row& each : rows) {
    world all(config);
    all.one.send(each.before);
    const std::string got = all.one.send(each.sent);
    EXPECT_EQ(got.substr(0, each.replied.size()), each.replied);
    EXPECT_LE(got.size(), config.max_output);
    EXPECT_TRUE(all.one.is_closed()) << each.sent.substr(0, 60);
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
      EXPECT_LE(all.state->keys.used_memory(), config.max_memory + bytes) << name;
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

// --- long commands ---

TEST(long_commands, let_others_have_their_turn_and_happen_at_one_moment) {
  struct row {
    std::string sent;
    std::string replied;   // how the reply begins
    std::string conflict;  // what another client sends meanwhile
    std::string answered;  // to that, in the end
  };
  const std::string count = std::to_string(much), all_of_them = "*" + count + "\r\n";
  const row rows[] = {
      {many({"RPUSH", "new"}), ":" + count, "LPOP new", bulk("0")},
      {many({"LPUSH", "list"}), ":" + std::to_string(2 * much), "RPUSH list x",
       ":" + std::to_string(2 * much + 1)},
      {"LRANGE list 0 -1\r\n", "*" + std::to_string(2 * much + 1), "RPOP list", bulk("x")},
      {"SORT list\r\n", "*" + std::to_string(2 * much), "RPUSH list x", ":" + std::to_string(2 * much + 1)},
      {many({"SADD", "more"}), ":" + count, "SREM more 1", ":1\r\n"},
      {"SMEMBERS set\r\n", all_of_them, "SADD set new", ":1\r\n"},
      {"SINTER set more\r\n", "*" + std::to_string(much - 1), "SREM set new", ":1\r\n"},
      {"SDIFF set few\r\n", "*" + std::to_string(much - 2), "SREM few 9", ":0\r\n"},
      {"SUNIONSTORE result set few\r\n", ":" + std::to_string(much + 1), "SREM result x", ":1\r\n"},
      {many({"SREM", "more"}), ":" + std::to_string(much - 1), "DEL more", ":0\r\n"},
      {many({"HSET", "hash"}, {"x"}).replace(0, 6, "*10002"), ":", "HGET hash x", "$"},
      {many({"ZADD", "sorted"}, {"0"}), ":0\r\n", "ZPOPMIN sorted", "*2\r\n" + bulk("0") + bulk("0")},
      {many({"MSET"}, {"x"}), "+OK", "SET x y", "+OK\r\n"},
      {many({"DEL"}), ":0\r\n", "SET 0 x", "+OK\r\n"},
      {many({"WATCH"}), "+OK", "SET 0 y", "+OK\r\n"},
      {many({"SUBSCRIBE"}), "*3\r\n", "", ""},
      {"MULTI\r\n" + repeat("INCR n\r\n", much) + "EXEC\r\n", "+OK\r\n+QUEUED", "INCR n",
       ":" + std::to_string(much + 1) + "\r\n"},
      {"MULTI\r\nINCR a\r\nSORT list LIMIT 0 1\r\nINCR b\r\nEXEC\r\n", "+OK\r\n+QUEUED", "GET b", bulk("1")},
  };
  world all;
  all.one.send(many({"RPUSH", "list"}) + many({"SADD", "set"}) + many({"ZADD", "sorted"}, {"1"}) +
               "SADD few 1 2 x\r\n");
  for (const row& each : rows) {
    const std::string shown = each.sent.substr(0, 40);
    test_client one(*all.state);
    std::string got = one.begin(each.sent);
    EXPECT_EQ(each.conflict.empty() ? "" : all.other.begin(each.conflict + "\r\n"), "") << shown;
    int portions = 0;
    for (; !one.is_done(); ++portions) {
      EXPECT_EQ(all.ask("SET unrelated x"), "+OK\r\n");
      if (all.state->claims.any()) {
        EXPECT_EQ(all.other.is_done() ? "" : all.other.step(), "") << shown;
      }
      got += one.step();
    }
    EXPECT_GT(portions, 3) << shown;
    EXPECT_EQ(got.substr(0, each.replied.size()), each.replied) << shown;
    EXPECT_EQ(all.other.finish().substr(0, each.answered.size()), each.answered) << each.conflict;
    EXPECT_FALSE(all.state->claims.any());
  }
  EXPECT_EQ(all.state->client_memory, 0U);
}

// A client sends a line; without one it continues to the end of its request, or looks whether it has been
// served. The reply begins with `replied`; if that is empty there is none yet.
struct act {
  test_client world::* who;
  std::string sent, replied;
};

std::string continued(test_client& who) {
  std::string replies = who.step();
  return replies += who.finish();
}

void play(world& all, const std::vector<act>& acts) {
  for (const act& each : acts) {
    test_client& who = all.*each.who;
    const std::string got = each.sent.empty() ? continued(who) : who.begin(each.sent + "\r\n");
    EXPECT_EQ(got.substr(0, std::max<std::size_t>(each.replied.size(), 1)), each.replied) << each.sent;
  }
  EXPECT_FALSE(all.state->claims.any());
}

TEST(long_commands, are_followed_by_conflicting_ones_in_order) {
  constexpr auto one = &world::one, other = &world::other, third = &world::third;
  const std::string count = std::to_string(much), more = std::to_string(much + 1);
  const std::vector<act> conflicts[] = {
      {{one, "LRANGE list 0 -1", ""},  // readers do not overtake a change that waits
       {other, "RPUSH list x", ""},
       {third, "LRANGE list 0 -1", ""},
       {one, "", "*" + count},
       {other, "", ":" + more},
       {third, "", "*" + more}},
      {{one, "LRANGE list 0 -1", ""},  // FLUSHALL waits, and keeps back long commands that have not begun
       {other, "FLUSHALL", ""},
       {third, "SMEMBERS set", ""},
       {one, "", "*" + count},
       {other, "", "+OK"},
       {third, "", "*0"}},
      {{other, "BLPOP new 0", ""},  // a blocked client is served when the claim has ended
       {one, many({"RPUSH", "new"}), ""},
       {third, "RPUSH unrelated x", ":1"},
       {other, "", ""},
       {one, "", ":" + count},
       {other, "", encode({"new", "0"})}},
      {{other, "BLPOP new 0", ""},
       {one, "MULTI\r\nRPUSH new 1 2\r\n" + repeat("INCR n\r\n", much) + "EXEC", "+OK\r\n+QUEUED"},
       {other, "", ""},
       {one, "", "+QUEUED"},
       {other, "", encode({"new", "1"})}},
  };
  for (const std::vector<act>& acts : conflicts) {
    world all;
    all.one.send(many({"RPUSH", "list"}) + many({"SADD", "set"}));
    play(all, acts);
  }
}

TEST(long_commands, of_many_keys_do_not_block_each_other_for_ever) {
  world all;
  std::vector<std::string> there{"DEL"}, back{"DEL"};
  for (int i = 0; i < much; ++i) {
    there.push_back(std::to_string(i));
    back.push_back(std::to_string(much - i));
  }
  all.third.send(many({"MSET"}, {"x"}));
  all.one.begin(encode(there));
  all.other.begin(encode(back));
  all.third.begin("MULTI\r\n" + repeat("INCR 7\r\nINCR 8\r\n", 600) + "EXEC\r\n");
  for (int round = 0; round < 10000; ++round) {
    for (test_client* each : {&all.one, &all.other, &all.third}) {
      each->is_done() ? "" : each->step();
    }
  }
  EXPECT_TRUE(all.one.is_done() && all.other.is_done() && all.third.is_done());
  EXPECT_FALSE(all.state->claims.any());
}

TEST(long_commands, of_a_client_that_is_closed_are_not_left_half_done) {
  settings config;
  config.max_output = 20000;
  world all(config);
  all.one.send("MULTI\r\n" + repeat("INCR n\r\nECHO 12345678901234567890\r\n", 1500) + "EXEC\r\n");
  EXPECT_TRUE(all.one.is_closed());
  EXPECT_EQ(all.ask("GET n"), bulk("1500"));
}

}  // namespace
}  // namespace kv
