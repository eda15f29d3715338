// Commands that take turns: other clients are served meanwhile, and see all of a command or nothing.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "support.hpp"

namespace kv {
namespace {

using test::bulk, test::encode, test::repeat, test::test_client;

constexpr int much = 5000;

// "COMMAND key" and so many numbers, each after `before`.
std::string many(std::vector<std::string> words, const std::vector<std::string>& before = {}) {
  for (int i = 0; i < much; ++i) {
    words.insert(words.end(), before.begin(), before.end());
    words.push_back(std::to_string(i * 7919 % much));
  }
  return encode(words);
}

class turns : public ::testing::Test {
protected:
  void SetUp() override {
    fill_.send(many({"RPUSH", "list"}) + many({"SADD", "set"}) + many({"ZADD", "sorted"}, {"1"}) +
               "SADD few 1 2 x\r\n");
  }

  // Until it is done. Calls `between` before each turn; returns how many there were.
  int finish(test_client& one, const std::function<void()>& between = [] {}) {
    int count = 0;
    for (; !one.is_done(); ++count) {
      between();
      got_ += one.step();
    }
    return count;
  }
  std::string ask(const std::string& line) { return test_client(*state_, 9).send(line + "\r\n"); }

  std::unique_ptr<server_state> state_ = std::make_unique<server_state>(settings());
  test_client fill_{*state_, 1}, one_{*state_, 2}, other_{*state_, 3};
  std::string got_;
};

struct row {
  std::string sent;
  std::string replied;   // how the reply begins
  std::string conflict;  // what another client sends meanwhile
  std::string answered;  // to that, in the end
};

TEST_F(turns, every_long_command_lets_others_have_theirs_and_happens_at_one_moment) {
  const std::string count = std::to_string(much), all = "*" + count + "\r\n";
  const row rows[] = {
      {many({"RPUSH", "new"}), ":" + count, "LPOP new", bulk("0")},
      {many({"LPUSH", "list"}), ":" + std::to_string(2 * much), "RPUSH list x",
       ":" + std::to_string(2 * much + 1)},
      {"LRANGE list 0 -1\r\n", "*" + std::to_string(2 * much + 1), "RPOP list", bulk("x")},
      {many({"SADD", "more"}), ":" + count, "SREM more 1", ":1\r\n"},
      {"SMEMBERS set\r\n", all, "SADD set new", ":1\r\n"},
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
  ask("DEL list");
  fill_.send(many({"RPUSH", "list"}));
  for (const row& each : rows) {
    test_client one(*state_, 7);
    got_ = one.begin(each.sent);
    const std::string waiting = each.conflict.empty() ? "" : other_.begin(each.conflict + "\r\n");
    EXPECT_EQ(waiting, "") << each.sent.substr(0, 40);
    const int taken = finish(one, [&] {
      EXPECT_EQ(ask("SET unrelated x"), "+OK\r\n");
      if (!each.conflict.empty() && !other_.is_done() && state_->claims.any()) {
        EXPECT_EQ(other_.step(), "");
      }
    });
    EXPECT_GT(taken, 3) << each.sent.substr(0, 40);
    EXPECT_EQ(got_.substr(0, each.replied.size()), each.replied) << each.sent.substr(0, 40);
    if (!each.conflict.empty()) {
      const std::string answered = other_.step();
      EXPECT_EQ(answered.substr(0, each.answered.size()), each.answered) << each.conflict;
      EXPECT_TRUE(other_.is_done()) << each.conflict;
    }
    EXPECT_FALSE(state_->claims.any());
  }
  EXPECT_EQ(state_->client_memory, 0U);
}

TEST_F(turns, sort_computes_in_portions_beside_changes_of_its_key) {
  one_.begin("SORT list\r\n");
  const int taken = finish(one_, [&] {
    if (one_.computes()) {
      ask("RPUSH list new");
      EXPECT_NE(ask("INFO clients").find("\r\ncomputing_clients:1\r\n"), std::string::npos);
    }
  });
  EXPECT_GT(taken, 20);
  std::vector<std::string> sorted;
  for (int i = 0; i < much; ++i) {
    sorted.push_back(std::to_string(i));
  }
  EXPECT_EQ(got_, encode(sorted));
}

TEST_F(turns, sort_can_be_stopped) {
  one_.begin("SORT list\r\nPING\r\n");
  while (!one_.computes()) {
    one_.step();
  }
  EXPECT_GT(state_->client_memory, 100000U);
  one_.raw().stop_computing();
  finish(one_);
  EXPECT_EQ(got_, "-ERR The server is ending\r\n+PONG\r\n");
}

TEST_F(turns, a_change_that_waits_is_not_overtaken_by_readers) {
  test_client more(*state_, 4);
  one_.begin("LRANGE list 0 -1\r\n");
  EXPECT_EQ(other_.begin("RPUSH list x\r\n"), "");
  more.begin("LRANGE list 0 -1\r\n");
  finish(one_, [&] { EXPECT_EQ(more.step(), ""); });
  EXPECT_EQ(other_.step(), ":5001\r\n");
  finish(more);
  EXPECT_EQ(got_.substr(got_.find("*5001")).substr(0, 7), "*5001\r\n");
}

TEST_F(turns, flushall_waits_and_keeps_new_long_commands_back) {
  one_.begin("LRANGE list 0 -1\r\n");
  EXPECT_EQ(other_.begin("FLUSHALL\r\n"), "");
  test_client more(*state_, 4);
  EXPECT_EQ(more.begin("SMEMBERS set\r\n"), "");
  EXPECT_EQ(ask("GET x"), "$-1\r\n");
  finish(one_);
  EXPECT_EQ(other_.step(), "+OK\r\n");
  EXPECT_EQ(more.step(), "*0\r\n");
}

TEST_F(turns, commands_of_many_keys_do_not_block_each_other_for_ever) {
  std::vector<std::string> there{"DEL"}, back{"DEL"};
  for (int i = 0; i < much; ++i) {
    there.push_back(std::to_string(i));
    back.push_back(std::to_string(much - i));
  }
  fill_.send(many({"MSET"}, {"x"}) + many({"MSET"}).replace(0, 5, "*5001"));
  one_.begin(encode(there));
  other_.begin(encode(back));
  test_client third(*state_, 5);
  third.begin("MULTI\r\n" + repeat("INCR 7\r\nINCR 8\r\n", 600) + "EXEC\r\n");
  int rounds = 0;
  for (; !(one_.is_done() && other_.is_done() && third.is_done()) && rounds < 10000; ++rounds) {
    for (test_client* each : {&one_, &other_, &third}) {
      if (!each->is_done()) {
        each->step();
      }
    }
  }
  EXPECT_LT(rounds, 10000);
  EXPECT_FALSE(state_->claims.any());
}

TEST_F(turns, a_client_that_is_broken_off_does_not_leave_half_a_change) {
  settings config;
  config.max_output = 20000;
  const auto state = std::make_unique<server_state>(config);
  test_client one(*state, 1), other(*state, 2);
  one.send("MULTI\r\nSUBSCRIBE a\r\n" + repeat("INCR n\r\nECHO 12345678901234567890\r\n", 1500) + "EXEC\r\n");
  EXPECT_TRUE(one.closed());
  EXPECT_EQ(other.send("GET n\r\n"), bulk("1500"));
}

TEST_F(turns, blocked_clients_are_served_when_the_claim_has_ended) {
  EXPECT_EQ(other_.send("BLPOP new 0\r\n"), "");
  one_.begin(many({"RPUSH", "new"}));
  finish(one_, [&] {
    ask("RPUSH unrelated x");
    EXPECT_EQ(other_.woken, 0);
  });
  EXPECT_EQ(other_.step(), encode({"new", "0"}));
  one_.begin("MULTI\r\nRPUSH again 1 2\r\n" + repeat("INCR n\r\n", much) + "EXEC\r\n");
  EXPECT_EQ(other_.begin("BLPOP again 0\r\n"), "");
  finish(one_);
  EXPECT_EQ(other_.step(), encode({"again", "1"}));
}

}  // namespace
}  // namespace kv
