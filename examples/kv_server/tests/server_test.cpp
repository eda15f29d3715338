// Sessions and commands without connections: what against_redis.py cannot compare with redis-server.
#include <gtest/gtest.h>

#include <optional>

#include "support.hpp"

namespace kv {
namespace {

using test::bulk, test::encode, test::repeat, test::test_client;

const std::string oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

class server : public ::testing::Test {
protected:
  void configure(const settings& config) {
    one_.reset();
    other_.reset();
    state_ = std::make_unique<server_state>(config);
    one_.emplace(*state_, 1);
    other_.emplace(*state_, 2);
  }
  std::string other(const std::string& line) { return other_->send(line + "\r\n"); }

  std::unique_ptr<server_state> state_ = std::make_unique<server_state>(settings());
  std::optional<test_client> one_{std::in_place, *state_, 1}, other_{std::in_place, *state_, 2};
};

// --- one client ---

TEST_F(server, requests_and_replies_are_bounded) {
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
      {repeat(encode({"RPUSH", "l", std::string(50000, 'x')}), 5), "PING\r\nLRANGE l 0 -1\r\n", ""},
      {"MULTI\r\n", repeat(encode({"SET", "a", std::string(1000, 'x')}), 2000), ""},
  };
  for (const row& each : rows) {
    configure(config);
    one_->send(each.before);
    const std::string got = one_->send(each.sent);
    if (!each.replied.empty()) {
      EXPECT_EQ(got, each.replied);
    }
    EXPECT_TRUE(one_->closed()) << each.sent.substr(0, 60);
    EXPECT_LE(one_->largest_output, config.max_output);
  }
}

TEST_F(server, tells_its_own_version_and_closes_http) {
  EXPECT_NE(other("HELLO 2 AUTH default any").find(bulk("version") + bulk("0.1.0")), std::string::npos);
  EXPECT_NE(other("INFO").find("redis_version:0.1.0\r\n"), std::string::npos);
  for (const char* line : {"POST / HTTP/1.1", "host: x"}) {
    test_client browser(*state_, 8);
    EXPECT_EQ(browser.send(std::string("PING\r\n") + line + "\r\nSET a 1\r\n"), "");
    EXPECT_TRUE(browser.closed());
  }
  EXPECT_EQ(state_->keys.size(), 0U);
}

// --- clients and each other ---

TEST_F(server, an_item_reaches_a_blocked_client_that_is_not_gone) {
  test_client next(*state_, 3);
  EXPECT_EQ(one_->send("BLPOP l 0\r\nPING\r\n"), "");
  EXPECT_EQ(next.send("BLPOP x l 0\r\n"), "");
  EXPECT_EQ(other("RPUSH l a"), ":1\r\n");
  EXPECT_EQ(one_->woken, 1);
  EXPECT_EQ(one_->step(), encode({"l", "a"}) + "+PONG\r\n");
  next.gone = true;
  EXPECT_EQ(other("RPUSH l b"), ":1\r\n");
  EXPECT_EQ(other("LRANGE l 0 -1"), encode({"b"}));
  next.raw().time_out();
  EXPECT_EQ(next.step(), "*-1\r\n");
  EXPECT_EQ(state_->blocked.size(), 0U);
  EXPECT_EQ(state_->client_memory, 0U);
}

TEST_F(server, a_subscriber_that_takes_no_messages_is_broken_off) {
  settings of_one, of_all;
  of_one.max_pushed = of_all.max_memory_clients = 100000;
  for (const settings& config : {of_one, of_all}) {
    configure(config);
    one_->send("SUBSCRIBE a\r\n");
    const std::string message = encode({"PUBLISH", "a", std::string(1000, 'x')});
    EXPECT_EQ(other_->send(message) + other_->send(message), ":1\r\n:1\r\n");
    EXPECT_EQ(one_->step().size(), 2 * (1000 + 33U));
    EXPECT_EQ(other_->send(repeat(message, 500)), repeat(":1\r\n", 500));
    EXPECT_EQ(one_->broken_off, 1);
    EXPECT_EQ(state_->client_memory, 0U);
    EXPECT_EQ(one_->step(), "");
    EXPECT_TRUE(one_->closed());
  }
}

// --- memory ---

TEST_F(server, no_command_passes_maxmemory_by_more_than_its_arguments) {
  settings config;
  config.max_memory = 1000000;
  for (const char* name : {"RPUSH", "SADD", "HSET", "ZADD", "MSET"}) {
    configure(config);
    std::string reply;
    for (int round = 0; round < 100 && reply != oom; ++round) {
      std::vector<std::string> words{name};
      std::size_t bytes = 0;
      for (int i = 0; i < (words[0] == "HSET" || words[0] == "ZADD" ? 4001 : 4002); ++i) {
        bytes += words.emplace_back(std::to_string(round * 10000 + i)).size();
      }
      reply = one_->send(encode(words));
      EXPECT_LE(state_->keys.used_memory(), config.max_memory + bytes) << name;
    }
    EXPECT_EQ(reply, oom) << name;
    EXPECT_EQ(other("GET missing"), "$-1\r\n");
  }
}

TEST_F(server, results_and_transactions_respect_maxmemory) {
  settings config;
  config.max_memory = 1000000;
  configure(config);
  for (int i = 0; i < 6; ++i) {
    one_->send(encode({"SADD", "s", std::to_string(i) + std::string(100000, 'x')}));
  }
  EXPECT_EQ(other("SUNIONSTORE to s\r\nDEL to"), oom + ":0\r\n");
  while (state_->keys.destroy_garbage(100)) {
  }
  const std::string set = encode({"SET", "k", std::string(500000, 'x')});
  EXPECT_EQ(one_->send("MULTI\r\n" + set + "SET other x\r\nGET other\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n" + oom + "$-1\r\n");
  EXPECT_EQ(other("MULTI\r\nGET other\r\nINCR n"), "+OK\r\n+QUEUED\r\n" + oom);
  EXPECT_EQ(other("EXEC"), "-EXECABORT Transaction discarded because of previous errors.\r\n");
}

}  // namespace
}  // namespace kv
