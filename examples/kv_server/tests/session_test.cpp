// Sessions: bytes in any pieces, bounded memory, closing.
#include "session.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support.hpp"

namespace kv {
namespace {

using test::bulk, test::encode, test::make_server, test::repeat, test::test_client;

TEST(session, pieces_do_not_matter) {
  const std::string bytes = repeat(
      encode({"SET", "k", std::string(3000, 'x')}) + "GET k\r\nINCR n\r\n" + encode({"ECHO", "a\r\nb"}), 20);
  const auto server = make_server();
  const std::string whole = test_client(*server).send(bytes);
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const auto fresh = make_server();
    const std::size_t piece = round == 0 ? 1 : 1 + random() % 9000;
    ASSERT_EQ(test_client(*fresh).send(bytes, piece), whole) << piece;
  }
}

TEST(session, sessions_share_the_receive_block_but_not_their_bytes) {
  const auto server = make_server();
  test_client one(*server, 1), other(*server, 2);
  EXPECT_EQ(one.send("*2\r\n$4\r\nECHO\r\n$3\r\non"), "");
  EXPECT_EQ(other.send("ECHO oth"), "");
  EXPECT_EQ(one.send("e\r\n"), bulk("one"));
  EXPECT_EQ(other.send("er\r\n"), bulk("other"));
}

TEST(session, replies_before_a_protocol_error_are_sent_then_it_closes) {
  const auto server = make_server();
  test_client client(*server);
  EXPECT_EQ(client.send("PING\r\n*1\r\n$-1\r\nPING\r\n"),
            "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n");
  EXPECT_TRUE(client.closed());
}

TEST(session, an_endless_pipeline_has_bounded_output) {
  const auto server = make_server();
  test_client client(*server);
  EXPECT_EQ(client.send(encode({"SET", "k", std::string(1000, 'x')})), "+OK\r\n");
  const std::string replies = client.send(repeat("GET k\r\n", 100000));
  EXPECT_EQ(replies.size(), 100000 * (1000 + 9));
  EXPECT_LT(client.largest_output(), session::flush_size + 2000);
}

TEST(session, a_reply_over_the_limit_closes_without_a_part_of_it) {
  settings config;
  config.max_output = 100000;
  const auto server = make_server(config);
  test_client client(*server);
  EXPECT_EQ(client.send(encode({"SET", "k", std::string(99000, 'x')})), "+OK\r\n");
  EXPECT_EQ(client.send("GET k\r\n").size(), 99010U);
  EXPECT_EQ(client.send(encode({"SET", "k", std::string(100000, 'x')})), "+OK\r\n");
  EXPECT_EQ(client.send("GET k\r\n"), "");
  EXPECT_TRUE(client.closed());
}

TEST(session, amplification_is_bounded) {
  settings config;
  config.max_output = std::size_t{1} << 20;
  const auto server = make_server(config);
  test_client client(*server);
  client.send("*16002\r\n$7\r\nCOMMAND\r\n$4\r\nDOCS\r\n" + repeat("$3\r\nget\r\n", 16000));
  EXPECT_TRUE(client.closed());
  EXPECT_LE(client.largest_output(), config.max_output);
}

TEST(session, a_request_over_the_limit_gets_an_error) {
  settings config;
  config.protocol.max_request = 100000;
  const auto server = make_server(config);
  test_client client(*server);
  EXPECT_EQ(client.send("*2\r\n$4\r\nECHO\r\n$100000\r\n"),
            "-ERR Protocol error: request exceeds client-query-buffer-limit\r\n");
  EXPECT_TRUE(client.closed());
  test_client many(*server);
  EXPECT_EQ(many.send("*2147483647\r\n" + repeat("$0\r\n\r\n", 20000)),
            "-ERR Protocol error: request exceeds client-query-buffer-limit\r\n");
  EXPECT_TRUE(many.closed());
}

TEST(session, all_sessions_together_are_bounded) {
  settings config;
  config.max_memory_clients = std::size_t{4} << 20;
  const auto server = make_server(config);
  std::vector<std::unique_ptr<test_client>> clients;
  const std::string half = "*2\r\n$4\r\nECHO\r\n$1000000\r\n" + std::string(900000, 'x');
  std::size_t closed = 0;
  for (std::uint64_t id = 0; id < 20; ++id) {
    clients.push_back(std::make_unique<test_client>(*server, id));
    EXPECT_EQ(clients.back()->send(half), "");
    closed += clients.back()->closed() ? 1U : 0U;
    if (clients.back()->closed()) {
      clients.pop_back();  // as a server does
    }
    EXPECT_LE(server->client_memory, config.max_memory_clients);
  }
  EXPECT_GT(closed, 10U);
  EXPECT_GE(clients.size(), 2U);
  EXPECT_EQ(clients[0]->send(std::string(100000, 'x') + "\r\n").size(), 1000000U + 12);
  test_client small(*server);
  EXPECT_EQ(small.send("PING\r\n"), "+PONG\r\n");
  clients.clear();
  EXPECT_EQ(server->client_memory, 0U);
}

TEST(session, a_fresh_session_after_a_big_one_holds_nothing) {
  const auto server = make_server();
  test_client client(*server);
  EXPECT_EQ(client.send(encode({"ECHO", std::string(5000000, 'x')})).size(), 5000000U + 12);
  EXPECT_EQ(client.send("PING\r\n"), "+PONG\r\n");
  EXPECT_EQ(server->client_memory, 0U);
  EXPECT_LE(server->shared.spare_output.capacity(), session::own_allowance);
}

TEST(session, clients_are_counted) {
  const auto server = make_server();
  {
    test_client one(*server), other(*server);
    EXPECT_EQ(server->stats.connected_clients, 2U);
  }
  EXPECT_EQ(server->stats.connected_clients, 0U);
  EXPECT_EQ(server->stats.connections_received, 2U);
}

}  // namespace
}  // namespace kv
