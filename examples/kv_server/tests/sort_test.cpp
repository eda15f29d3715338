// SORT, and what else computes: done in portions, beside others, and at one moment all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "support.hpp"

namespace kv {
namespace {

using test::encode, test::make_server, test::test_client;
using outcome = session::outcome;

std::string array_of(const std::vector<int>& numbers) {
  std::string text = "*" + std::to_string(numbers.size()) + "\r\n";
  for (const int each : numbers) {
    text += test::bulk(std::to_string(each));
  }
  return text;
}

// One client sorts, a step at a time, and another does something else between two.
class sorting : public testing::Test {
protected:
  static constexpr int much = 2000;

  void SetUp() override {
    for (int i = 0; i < much; ++i) {
      push(i * 7919 % much);
    }
  }

  void push(int number) {
    other_.send(encode({"RPUSH", "numbers", std::to_string(number)}));
    numbers_.push_back(number);
  }

  std::vector<int> sorted() const {
    std::vector<int> copy = numbers_;
    std::sort(copy.begin(), copy.end());
    return copy;
  }

  void send(std::string_view bytes) {
    session& one = sorter_.raw();
    const std::span<char> space = one.receive_space();
    std::memcpy(space.data(), bytes.data(), bytes.size());
    one.received(bytes.size());
  }

  // Processes once. What there is to compute is left.
  outcome step() {
    session& one = sorter_.raw();
    const outcome result = one.process();
    got_ += one.output();
    one.output_sent();
    return result;
  }

  // Until it is to compute, to wait or to close.
  outcome go_on() {
    outcome result;
    while ((result = step()) == outcome::more) {
    }
    return result;
  }

  std::unique_ptr<server_state> server_ = make_server();
  test_client sorter_{*server_, 1}, other_{*server_, 2};
  std::vector<int> numbers_;
  std::string got_;
};

TEST_F(sorting, takes_turns_with_others) {
  send("PING\r\nSORT numbers\r\nPING\r\n");
  EXPECT_EQ(step(), outcome::more);
  EXPECT_EQ(got_, "+PONG\r\n");
  int turns = 1;
  for (; step() == outcome::more; ++turns) {
  }
  EXPECT_GT(turns, 4);
  EXPECT_EQ(server_->stats.computing_clients, 1U);
  EXPECT_NE(other_.send("INFO clients\r\n").find("\r\ncomputing_clients:1\r\n"), std::string::npos);
  sorter_.raw().compute();
  EXPECT_EQ(step(), outcome::more);
  EXPECT_EQ(server_->stats.computing_clients, 0U);
  EXPECT_EQ(go_on(), outcome::wait);
  EXPECT_EQ(got_, "+PONG\r\n" + array_of(sorted()) + "+PONG\r\n");
}

TEST_F(sorting, begins_again_when_the_key_has_changed) {
  send("SORT numbers\r\n");
  EXPECT_EQ(step(), outcome::more);
  push(-5);
  EXPECT_EQ(go_on(), outcome::compute);
  const std::string expected = array_of(sorted());
  push(-6);  // too late
  sorter_.raw().compute();
  EXPECT_EQ(go_on(), outcome::wait);
  EXPECT_EQ(got_, expected);
}

TEST_F(sorting, comes_to_an_end_while_others_change_the_key_all_the_time) {
  for (const std::string_view request : {"SORT numbers LIMIT 0 1\r\n", "SORT numbers STORE to\r\n"}) {
    send(request);
    int steps = 0;
    for (outcome result = outcome::more; result != outcome::wait; ++steps) {
      ASSERT_LT(steps, 200);
      result = step();
      if (result != outcome::wait) {
        push(-100 - steps);
      }
      if (result == outcome::compute) {
        sorter_.raw().compute();
      }
    }
  }
  EXPECT_EQ(other_.send("LRANGE to 0 -1\r\n"), array_of(sorted()));
}

TEST_F(sorting, stores_what_the_key_holds_by_then) {
  send("SORT numbers STORE numbers\r\n");
  EXPECT_EQ(go_on(), outcome::compute);
  push(-5);
  sorter_.raw().compute();
  EXPECT_EQ(go_on(), outcome::compute);
  sorter_.raw().compute();
  EXPECT_EQ(go_on(), outcome::wait);
  EXPECT_EQ(got_, ":" + std::to_string(numbers_.size()) + "\r\n");
  EXPECT_EQ(other_.send("LRANGE numbers 0 -1\r\n"), array_of(sorted()));
}

TEST_F(sorting, is_done_in_one_piece_within_a_transaction) {
  send("MULTI\r\nINCR n\r\nSORT numbers LIMIT 0 1\r\nSORT numbers STORE to\r\nEXEC\r\n");
  EXPECT_EQ(step(), outcome::wait);
  EXPECT_EQ(got_, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n*1\r\n$1\r\n0\r\n:2000\r\n");
}

TEST_F(sorting, sees_what_becomes_of_the_key) {
  for (const auto& [change, reply] : {std::pair("DEL numbers\r\n", "*0\r\n"),
                                      std::pair("SET numbers x\r\n",
                                                "-WRONGTYPE Operation against a key holding the wrong kind "
                                                "of value\r\n")}) {
    got_.clear();
    other_.send("SORT numbers STORE kept\r\n");
    send("SORT numbers\r\n");
    EXPECT_EQ(step(), outcome::more);
    other_.send(change);
    if (go_on() == outcome::compute) {
      sorter_.raw().compute();
      EXPECT_EQ(go_on(), outcome::wait);
    }
    EXPECT_EQ(got_, reply);
    other_.send("SORT kept STORE numbers\r\n");
  }
}

TEST_F(sorting, replies_an_error_after_it_has_computed) {
  other_.send("RPUSH numbers x\r\n");
  EXPECT_EQ(sorter_.send("SORT numbers\r\nSORT numbers STORE to\r\nPING\r\n"),
            "-ERR One or more scores can't be converted into double\r\n"
            "-ERR One or more scores can't be converted into double\r\n+PONG\r\n");
  EXPECT_EQ(other_.send("EXISTS to\r\n"), ":0\r\n");
}

TEST_F(sorting, can_be_stopped) {
  send("SORT numbers STORE to\r\nPING\r\n");
  EXPECT_EQ(go_on(), outcome::compute);
  sorter_.raw().stop_computing();
  sorter_.raw().compute();
  EXPECT_EQ(go_on(), outcome::wait);
  EXPECT_EQ(got_, "-ERR The server is ending\r\n+PONG\r\n");
  EXPECT_EQ(other_.send("EXISTS to\r\n"), ":0\r\n");
}

TEST_F(sorting, is_counted_as_the_clients_memory) {
  other_.send(encode({"RPUSH", "numbers", std::string(200000, '7')}));
  send("SORT numbers ALPHA LIMIT 0 1\r\n");
  EXPECT_EQ(go_on(), outcome::compute);
  EXPECT_GT(server_->client_memory, 100000U);
  sorter_.raw().compute();
  EXPECT_EQ(go_on(), outcome::wait);
  EXPECT_EQ(server_->client_memory, 0U);
}

TEST_F(sorting, ends_with_its_client) {
  {
    test_client leaving(*server_, 3);
    const std::string_view request = "SORT numbers\r\n";
    std::memcpy(leaving.raw().receive_space().data(), request.data(), request.size());
    leaving.raw().received(request.size());
    while (leaving.raw().process() == outcome::more) {
    }
    EXPECT_EQ(server_->stats.computing_clients, 1U);
  }
  EXPECT_EQ(server_->stats.computing_clients, 0U);
  EXPECT_EQ(server_->client_memory, 0U);
}

TEST_F(sorting, debug_loop_computes_until_it_is_stopped) {
  server_->config.debug_command = true;
  EXPECT_EQ(sorter_.send("DEBUG LOOP\r\n"),
            "-ERR DEBUG LOOP would stop everybody here: this server is not preemptible (INFO server)\r\n");
  server_->config.time_slice = std::chrono::microseconds(500);
  EXPECT_NE(sorter_.send("MULTI\r\nDEBUG LOOP\r\nEXEC\r\n").find("is not allowed in a transaction"),
            std::string::npos);
  send("DEBUG LOOP\r\nPING\r\n");
  EXPECT_EQ(step(), outcome::compute);
  EXPECT_TRUE(sorter_.raw().is_in_company());
  sorter_.raw().stop_computing();
  sorter_.raw().compute();
  EXPECT_EQ(step(), outcome::wait);
  EXPECT_EQ(got_, "+OK\r\n+PONG\r\n");
  EXPECT_FALSE(sorter_.raw().is_in_company());
}

// Each takes turns with others, and begins again if what it reads changes.
TEST_F(sorting, so_do_large_ranges_set_operations_and_key_listings) {
  for (int i = 0; i < 5000; ++i) {
    other_.send("SADD one " + std::to_string(i) + "\r\nSET key:" + std::to_string(i) + " x\r\n");
  }
  other_.send("SADD other 1 2 x\r\n");
  for (const auto& [request, before, after] :
       {std::tuple("LRANGE numbers 0 -1\r\n", "*2000\r\n", "*2001\r\n"),
        std::tuple("SMEMBERS one\r\n", "*5000\r\n", "*5001\r\n"),
        std::tuple("SUNION other one\r\n", "*5001\r\n", "*5002\r\n"),
        std::tuple("SDIFF one other\r\n", "*4998\r\n", "*4999\r\n"),
        std::tuple("SDIFFSTORE to one other\r\n", ":4998\r\n", ":4999\r\n")}) {
    const std::string whole = sorter_.send(request);
    EXPECT_EQ(whole.substr(0, whole.find('\n') + 1), before) << request;
    got_.clear();
    send(request);
    int turns = 0;
    for (; step() == outcome::more; ++turns) {
      if (turns == 0) {
        other_.send("RPUSH numbers new\r\nSADD one new\r\n");
      }
    }
    EXPECT_GT(turns, 1) << request;
    EXPECT_EQ(got_.substr(0, got_.find('\n') + 1), after) << request;
    other_.send("RPOP numbers\r\nSREM one new\r\n");
  }
  EXPECT_EQ(sorter_.send("SINTER one other\r\n"), "*2\r\n" + test::bulk("1") + test::bulk("2"));
  send("KEYS key:*\r\n");
  got_.clear();
  EXPECT_EQ(step(), outcome::more);
  EXPECT_EQ(go_on(), outcome::wait);
  EXPECT_EQ(got_.substr(0, 7), "*5000\r\n");
}

TEST_F(sorting, too_much_at_once_is_refused) {
  const std::string error =
      "-ERR too much at once: a command or transaction may have 16384 arguments and change 16384 "
      "elements\r\n";
  for (int i = 0; i < 20; ++i) {
    other_.send("*1002\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n" + test::repeat("$1\r\nx\r\n", 1000));
  }
  EXPECT_EQ(other_.send("LPOP l 16385\r\n"), error);
  EXPECT_EQ(other_.send("LLEN l\r\nMULTI\r\nSORT l ALPHA\r\nLLEN l\r\nEXEC\r\n"),
            ":20000\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n" + error + ":20000\r\n");
  EXPECT_EQ(other_.send("*16385\r\n$3\r\nDEL\r\n" + test::repeat("$1\r\nl\r\n", 16384)), error);
  const std::string ping = "PING\r\n";
  const std::string replies = other_.send("MULTI\r\n" + test::repeat(ping, 16385) + "EXEC\r\n");
  EXPECT_NE(replies.find(error + "-EXECABORT"), std::string::npos);
}

}  // namespace
}  // namespace kv
