// Clients that wait for each other: blocking, messages, transactions; told by what their fronts are told.
#include <gtest/gtest.h>

#include "arguments.hpp"
#include "support.hpp"

namespace kv {
namespace {

using test::bulk, test::encode, test::make_server, test::repeat, test::test_client;

struct noting_front final : front {
  void wake() override { ++woken; }
  void break_off() override { ++broken_off; }
  bool is_gone() override { return gone; }
  int woken = 0, broken_off = 0;
  bool gone = false;
};

class company : public ::testing::Test {
protected:
  std::size_t list_size(std::string_view key) {
    const any_value* found = server_->keys.find(key);
    return found == nullptr ? 0 : get_as<list_value>(*found)->size();
  }

  std::unique_ptr<server_state> server_ = make_server();
  noting_front front_;
  std::optional<test_client> waiting_{std::in_place, *server_, 1, &front_};
  test_client other_{*server_, 2};
};

TEST_F(company, a_blocked_client_is_handed_its_item) {
  EXPECT_EQ(waiting_->send("BLPOP l 0\r\nPING\r\n"), "");
  EXPECT_TRUE(waiting_->raw().is_in_company());
  EXPECT_EQ(waiting_->raw().deadline(), std::chrono::steady_clock::time_point::max());
  EXPECT_EQ(server_->blocked.size(), 1U);
  EXPECT_EQ(other_.send("RPUSH l a b\r\n"), ":2\r\n");
  EXPECT_EQ(front_.woken, 1);
  EXPECT_EQ(server_->blocked.size(), 0U);
  EXPECT_EQ(waiting_->drain(), "*2\r\n" + bulk("l") + bulk("a") + "+PONG\r\n");
  EXPECT_FALSE(waiting_->raw().is_in_company());
  EXPECT_EQ(server_->client_memory, 0U);
}

TEST_F(company, its_time_is_over) {
  EXPECT_EQ(waiting_->send("BLPOP l 0.5\r\n"), "");
  EXPECT_LT(waiting_->raw().deadline(), std::chrono::steady_clock::now() + std::chrono::seconds(1));
  waiting_->raw().time_out();
  EXPECT_EQ(waiting_->drain(), "*-1\r\n");
  EXPECT_EQ(server_->blocked.size(), 0U);
  EXPECT_EQ(other_.send("RPUSH l a\r\n"), ":1\r\n");
  EXPECT_EQ(list_size("l"), 1U);
}

TEST_F(company, who_is_gone_gets_nothing) {
  EXPECT_EQ(waiting_->send("BLPOP l 0\r\n"), "");
  front_.gone = true;
  EXPECT_EQ(other_.send("RPUSH l a\r\n"), ":1\r\n");
  EXPECT_EQ(list_size("l"), 1U);
  waiting_.reset();
  EXPECT_EQ(server_->blocked.size(), 0U);
}

TEST_F(company, what_was_handed_to_one_that_leaves_untold_goes_to_the_next) {
  noting_front next_front;
  test_client next(*server_, 3, &next_front);
  EXPECT_EQ(waiting_->send("BRPOP l 0\r\n"), "");
  EXPECT_EQ(next.send("BLPOP x l 0\r\n"), "");
  EXPECT_EQ(other_.send("RPUSH l a\r\n"), ":1\r\n");
  EXPECT_EQ(list_size("l"), 0U);
  waiting_.reset();
  EXPECT_EQ(next_front.woken, 1);
  EXPECT_EQ(next.drain(), "*2\r\n" + bulk("l") + bulk("a"));
  EXPECT_EQ(server_->client_memory, 0U);
}

TEST_F(company, what_was_handed_is_put_back_where_it_was) {
  EXPECT_EQ(waiting_->send("BRPOP l 0\r\n"), "");
  EXPECT_EQ(other_.send("RPUSH l a b c\r\n"), ":3\r\n");
  waiting_.reset();
  EXPECT_EQ(other_.send("LRANGE l 0 -1\r\n"), "*3\r\n" + bulk("a") + bulk("b") + bulk("c"));
}

TEST_F(company, messages_wait_until_they_are_taken) {
  EXPECT_EQ(waiting_->send("SUBSCRIBE a\r\n"), "*3\r\n" + bulk("subscribe") + bulk("a") + ":1\r\n");
  EXPECT_EQ(other_.send("PUBLISH a x\r\nPUBLISH a y\r\nPUBLISH b z\r\n"), ":1\r\n:1\r\n:0\r\n");
  EXPECT_EQ(front_.woken, 2);
  EXPECT_GT(server_->client_memory, 0U);
  const std::string head = "*3\r\n" + bulk("message") + bulk("a");
  EXPECT_EQ(waiting_->drain(), head + bulk("x") + head + bulk("y"));
  EXPECT_EQ(server_->client_memory, 0U);
  waiting_.reset();
  EXPECT_EQ(other_.send("PUBLISH a x\r\n"), ":0\r\n");
}

TEST(messages, one_who_does_not_take_them_is_broken_off) {
  settings config;
  config.max_pushed = 100000;
  const auto server = make_server(config);
  noting_front deaf;
  test_client listening(*server, 1, &deaf), sending(*server, 2);
  listening.send("SUBSCRIBE a\r\n");
  const std::string message = encode({"PUBLISH", "a", std::string(1000, 'x')});
  EXPECT_EQ(sending.send(repeat(message, 500)), repeat(":1\r\n", 500));
  EXPECT_EQ(deaf.broken_off, 1);
  EXPECT_EQ(server->client_memory, 0U);
  EXPECT_EQ(listening.drain(), "");
  EXPECT_TRUE(listening.closed());
}

TEST(transactions, what_is_queued_is_memory_of_the_client) {
  settings config;
  config.max_memory_clients = 1000000;
  const auto server = make_server(config);
  test_client client(*server, 1);
  EXPECT_EQ(client.send("MULTI\r\n"), "+OK\r\n");
  client.send(repeat(encode({"SET", "a", std::string(1000, 'x')}), 2000));
  EXPECT_TRUE(client.closed());
}

TEST(transactions, are_refused_whole_when_memory_is_out) {
  settings config;
  config.max_memory = 100000;
  const auto server = make_server(config);
  test_client client(*server, 1), other(*server, 2);
  EXPECT_EQ(client.send("MULTI\r\nSET a 1\r\n"), "+OK\r\n+QUEUED\r\n");
  other.send(encode({"SET", "big", std::string(200000, 'x')}));
  EXPECT_EQ(client.send("EXEC\r\n"),
            "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > "
            "'maxmemory'.\r\n");
  EXPECT_EQ(client.send("GET a\r\n"), "$-1\r\n");
}

TEST(patterns, match_as_in_redis) {
  EXPECT_TRUE(matches_pattern("h[^e-g]llo*", "hallo you"));
  EXPECT_FALSE(matches_pattern("h[^e-g]llo*", "hello you"));
  EXPECT_TRUE(matches_pattern("a\\*c", "a*c"));
  EXPECT_FALSE(matches_pattern("a\\*c", "abc"));
  EXPECT_TRUE(matches_pattern("SAVE", "save", true));
  EXPECT_TRUE(matches_pattern("[A-C]x", "bX", true));
  // A pattern made to take exponential time takes none.
  EXPECT_FALSE(matches_pattern(repeat("a*", 100) + "b", std::string(10000, 'a')));
}

}  // namespace
}  // namespace kv
