// Every command, and the errors common to all.
#include "commands.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace kv {
namespace {

using test::bulk, test::encode, test::make_server, test::repeat, test::test_client;

class commands : public ::testing::Test {
protected:
  std::string send(std::string_view line) { return client_.send(std::string(line) + "\r\n"); }

  std::unique_ptr<server_state> server_ = make_server();
  test_client client_{*server_, 7};
};

TEST_F(commands, ping_and_echo) {
  EXPECT_EQ(send("PING"), "+PONG\r\n");
  EXPECT_EQ(send("ping hello"), "$5\r\nhello\r\n");
  EXPECT_EQ(send("ping a b"), "-ERR wrong number of arguments for 'ping' command\r\n");
  EXPECT_EQ(send("eChO ''"), "$0\r\n\r\n");
  EXPECT_EQ(send("ECHO"), "-ERR wrong number of arguments for 'echo' command\r\n");
}

TEST_F(commands, get_and_set) {
  EXPECT_EQ(send("GET a"), "$-1\r\n");
  EXPECT_EQ(send("SET a 1"), "+OK\r\n");
  EXPECT_EQ(send("GET a"), "$1\r\n1\r\n");
  EXPECT_EQ(send("SET a"), "-ERR wrong number of arguments for 'set' command\r\n");
  EXPECT_EQ(send("SET a b c"), "-ERR syntax error\r\n");
  EXPECT_EQ(send("GET"), "-ERR wrong number of arguments for 'get' command\r\n");
  const std::string value = repeat(std::string("\0\r\n", 3), 100000);
  EXPECT_EQ(client_.send(encode({"SET", "big", value})), "+OK\r\n");
  EXPECT_EQ(client_.send(encode({"GET", "big"})), bulk(value));
}

TEST_F(commands, del_exists_and_dbsize) {
  EXPECT_EQ(send("SET a 1"), "+OK\r\n");
  EXPECT_EQ(send("SET b 1"), "+OK\r\n");
  EXPECT_EQ(send("EXISTS a a b c"), ":3\r\n");
  EXPECT_EQ(send("DBSIZE"), ":2\r\n");
  EXPECT_EQ(send("DEL a a c"), ":1\r\n");
  EXPECT_EQ(send("EXISTS a"), ":0\r\n");
  EXPECT_EQ(send("DBSIZE"), ":1\r\n");
}

TEST_F(commands, incr) {
  EXPECT_EQ(send("INCR n"), ":1\r\n");
  EXPECT_EQ(send("INCR n"), ":2\r\n");
  EXPECT_EQ(send("GET n"), "$1\r\n2\r\n");
  EXPECT_EQ(send("SET n -9223372036854775808"), "+OK\r\n");
  EXPECT_EQ(send("INCR n"), ":-9223372036854775807\r\n");
  EXPECT_EQ(send("SET n 9223372036854775807"), "+OK\r\n");
  EXPECT_EQ(send("INCR n"), "-ERR increment or decrement would overflow\r\n");
  for (const char* bad :
       {"''", "abc", "' 1'", "'1 '", "01", "+1", "-0", "--1", "1.0", "9223372036854775808", "\"1\\x00\""}) {
    EXPECT_EQ(send(std::string("SET n ") + bad), "+OK\r\n");
    EXPECT_EQ(send("INCR n"), "-ERR value is not an integer or out of range\r\n") << bad;
  }
}

TEST_F(commands, unknown_ones) {
  EXPECT_EQ(send("FOO"), "-ERR unknown command 'FOO', with args beginning with: \r\n");
  EXPECT_EQ(send("foo a \"b\\r\\nc\""),
            "-ERR unknown command 'foo', with args beginning with: 'a' 'b  c' \r\n");
  EXPECT_EQ(client_.send(encode({std::string(200, 'f'), std::string(200, 'a'), "b"})),
            "-ERR unknown command '" + std::string(128, 'f') + "', with args beginning with: '" +
                std::string(128, 'a') + "' \r\n");
  EXPECT_EQ(
      client_.send(encode({"foo", std::string(120, 'a'), "0123456789", "x"})),
      "-ERR unknown command 'foo', with args beginning with: '" + std::string(120, 'a') + "' '01234' \r\n");
}

TEST_F(commands, names_that_are_nearly_commands_are_none) {
  for (const std::string& name :
       {std::string("GE"), std::string("GETT"), std::string("G\x05T"), std::string("GET\0", 4),
        std::string("\0", 1), std::string(), std::string("SE\x14"), std::string("COMMANDX"),
        std::string("COMMAND\xff"), std::string(1000, 'G')}) {
    EXPECT_EQ(find_command(name), nullptr) << name;
  }
  for (const command& each : all_commands()) {
    std::string upper(each.name);
    EXPECT_EQ(find_command(upper), &each);
    upper[0] = static_cast<char>(upper[0] - 32);
    EXPECT_EQ(find_command(upper), &each);
  }
}

TEST_F(commands, select_hello_and_quit) {
  EXPECT_EQ(send("SELECT 0"), "+OK\r\n");
  EXPECT_EQ(send("SELECT 1"), "-ERR DB index is out of range\r\n");
  EXPECT_EQ(send("SELECT x"), "-ERR value is not an integer or out of range\r\n");
  const std::string hello =
      "*14\r\n$6\r\nserver\r\n$6\r\nsennit\r\n$7\r\nversion\r\n$5\r\n0.1.0\r\n$5\r\nproto\r\n:2\r\n"
      "$2\r\nid\r\n:7\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
      "$7\r\nmodules\r\n*0\r\n";
  EXPECT_EQ(send("HELLO"), hello);
  EXPECT_EQ(send("HELLO 2 SETNAME joe"), hello);
  EXPECT_EQ(send("CLIENT GETNAME"), bulk("joe"));
  EXPECT_EQ(send("HELLO 2 AUTH default any SETNAME joe"), hello);
  EXPECT_EQ(send("HELLO 2 AUTH joe any"),
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(send("AUTH default any"), "+OK\r\n");
  EXPECT_EQ(send("AUTH any").substr(0, 57), "-ERR AUTH <password> called without any password configur");
  EXPECT_EQ(send("HELLO 3"), "-NOPROTO unsupported protocol version\r\n");
  EXPECT_EQ(send("HELLO x"), "-ERR Protocol version is not an integer or out of range\r\n");
  EXPECT_EQ(send("HELLO 2 foo"), "-ERR Syntax error in HELLO option 'foo'\r\n");
  EXPECT_EQ(send("HELLO 2 setname"), "-ERR Syntax error in HELLO option 'setname'\r\n");
  EXPECT_FALSE(client_.closed());
  EXPECT_EQ(send("QUIT\r\nPING"), "+OK\r\n");
  EXPECT_TRUE(client_.closed());
}

TEST_F(commands, client) {
  EXPECT_EQ(send("CLIENT ID"), ":7\r\n");
  EXPECT_EQ(send("CLIENT GETNAME"), "$-1\r\n");
  EXPECT_EQ(send("CLIENT SETNAME joe"), "+OK\r\n");
  EXPECT_EQ(send("client getname"), bulk("joe"));
  EXPECT_EQ(send("CLIENT SETNAME 'a b'"),
            "-ERR Client names cannot contain spaces, newlines or special characters.\r\n");
  EXPECT_EQ(send("CLIENT SETNAME ''"), "+OK\r\n");
  EXPECT_EQ(send("CLIENT GETNAME"), "$-1\r\n");
  EXPECT_EQ(send("CLIENT SETINFO LIB-NAME x"), "+OK\r\n");
  EXPECT_EQ(send("CLIENT FOO"), "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.\r\n");
  EXPECT_EQ(send("CLIENT"), "-ERR wrong number of arguments for 'client' command\r\n");
  EXPECT_EQ(send("CLIENT ID x"), "-ERR wrong number of arguments for 'client|id' command\r\n");
}

TEST_F(commands, config_get_answers_what_redis_benchmark_asks) {
  EXPECT_EQ(send("CONFIG GET save"), "*2\r\n" + bulk("save") + bulk(""));
  EXPECT_EQ(send("CONFIG GET appendonly"), "*2\r\n" + bulk("appendonly") + bulk("no"));
  EXPECT_EQ(send("CONFIG GET SAVE"), "*2\r\n" + bulk("SAVE") + bulk(""));
  EXPECT_EQ(send("CONFIG GET nonsense"), "*0\r\n");
  EXPECT_EQ(send("CONFIG GET app* appendonly"), "*2\r\n" + bulk("appendonly") + bulk("no"));
  EXPECT_EQ(send("CONFIG GET"), "-ERR wrong number of arguments for 'config|get' command\r\n");
  EXPECT_EQ(send("CONFIG SET"), "-ERR unknown subcommand 'SET'. Try CONFIG HELP.\r\n");
}

TEST_F(commands, help_lists_the_subcommands) {
  EXPECT_EQ(send("CONFIG HELP"),
            "*5\r\n+CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n+GET <pattern>\r\n"
            "+    Return parameters matching the glob-like <pattern> and their values.\r\n"
            "+HELP\r\n+    Print this help.\r\n");
  EXPECT_EQ(send("CLIENT HELP").substr(0, 5), "*11\r\n");
  EXPECT_EQ(send("command help").substr(0, 5), "*11\r\n");
  EXPECT_EQ(send("COMMAND HELP x"), "-ERR wrong number of arguments for 'command|help' command\r\n");
}

TEST_F(commands, http_closes_the_connection_without_a_reply) {
  for (const char* line : {"POST / HTTP/1.1", "host: x", "Post"}) {
    test_client browser(*server_, 8);
    EXPECT_EQ(browser.send("PING\r\n"), "+PONG\r\n");
    EXPECT_EQ(browser.send(std::string("PING\r\n") + line + "\r\nSET a 1\r\n"), "") << line;
    EXPECT_TRUE(browser.closed());
  }
  EXPECT_EQ(server_->keys.size(), 0U);
}

TEST_F(commands, command_describes_them) {
  const std::string count = std::to_string(all_commands().size());
  EXPECT_EQ(send("COMMAND COUNT"), ":" + count + "\r\n");
  EXPECT_EQ(send("COMMAND").substr(0, count.size() + 3), "*" + count + "\r\n");
  EXPECT_EQ(send("COMMAND INFO get nope"),
            "*2\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
            "*0\r\n*0\r\n*0\r\n*0\r\n$-1\r\n");
  EXPECT_EQ(send("COMMAND DOCS nope"), "*0\r\n");
  EXPECT_EQ(send("COMMAND DOCS get").substr(0, 13), "*2\r\n$3\r\nget\r\n");
  EXPECT_EQ(send("COMMAND LIST").substr(0, count.size() + 3), "*" + count + "\r\n");
}

// It faults nowhere here: that is left to a front, where it can do no harm.
TEST_F(commands, debug_segfault_is_left_to_a_front_that_survives_it) {
  const std::string not_allowed =
      "-ERR DEBUG command not allowed: start the server with --enable-debug-command yes\r\n";
  EXPECT_EQ(send("DEBUG SEGFAULT"), not_allowed);
  EXPECT_EQ(send("DEBUG nonsense"), "-ERR unknown subcommand 'nonsense'. Try DEBUG HELP.\r\n");
  EXPECT_EQ(send("DEBUG"), "-ERR wrong number of arguments for 'debug' command\r\n");
  server_->config.debug_command = true;
  EXPECT_EQ(send("DEBUG SEGFAULT").substr(0, 46), "-ERR DEBUG SEGFAULT would end the server here:");
  server_->survives_faults = true;
  EXPECT_EQ(send("DEBUG SEGFAULT x"), "-ERR wrong number of arguments for 'debug|segfault' command\r\n");
  EXPECT_EQ(send("MULTI\r\nDEBUG SEGFAULT\r\nEXEC"),
            "+OK\r\n+QUEUED\r\n*1\r\n-ERR DEBUG SEGFAULT is not allowed in a transaction\r\n");
  EXPECT_FALSE(client_.raw().is_at_risk());
  EXPECT_FALSE(client_.closed());
  EXPECT_EQ(send("PING\r\ndebug segfault\r\nSET a 1"), "+PONG\r\n");
  EXPECT_TRUE(client_.raw().is_at_risk());
  EXPECT_TRUE(client_.closed());
  EXPECT_EQ(server_->keys.size(), 0U);
}

TEST_F(commands, info_has_sections) {
  EXPECT_EQ(send("SET a 1"), "+OK\r\n");
  const std::string all = send("INFO");
  EXPECT_NE(all.find("# Server\r\nredis_version:0.1.0\r\n"), std::string::npos);
  EXPECT_NE(all.find("\r\n\r\n# Clients\r\nconnected_clients:1\r\n"), std::string::npos);
  EXPECT_NE(all.find("total_commands_processed:2\r\n"), std::string::npos);
  EXPECT_EQ(send("INFO KeySpace"), bulk("# Keyspace\r\ndb0:keys=1,expires=0,avg_ttl=0\r\n"));
  EXPECT_EQ(send("INFO nope"), bulk(""));
}

TEST(memory_limit, refuses_writes_but_not_reads_and_deletes) {
  settings config;
  config.max_memory = 100000;
  const auto server = make_server(config);
  test_client client(*server);
  const std::string oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
  EXPECT_EQ(client.send("SET small 1\r\n"), "+OK\r\n");
  EXPECT_EQ(client.send(encode({"SET", "big", std::string(100000, 'x')})), "+OK\r\n");
  EXPECT_EQ(client.send("SET small 2\r\n"), oom);
  EXPECT_EQ(client.send("INCR small\r\n"), oom);
  EXPECT_EQ(client.send("SET small\r\n"), "-ERR wrong number of arguments for 'set' command\r\n");
  EXPECT_EQ(client.send("GET small\r\n"), bulk("1"));
  EXPECT_EQ(client.send("DEL big\r\n"), ":1\r\n");
  EXPECT_EQ(client.send("SET small 2\r\n"), "+OK\r\n");
}

// A command may pass the limit by its own arguments only.
TEST(memory_limit, holds_for_what_commands_store_and_in_transactions) {
  settings config;
  config.max_memory = 1000000;
  const auto server = make_server(config);
  test_client client(*server);
  const std::string oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
  for (int i = 0; i < 6; ++i) {
    client.send(encode({"SADD", "s", std::to_string(i) + std::string(100000, 'x')}));
    client.send(encode({"RPUSH", "l", "1"}));
  }
  EXPECT_EQ(client.send("SUNIONSTORE to s\r\nEXISTS to\r\n"), oom + ":0\r\n");
  EXPECT_EQ(client.send("SORT s ALPHA STORE to\r\nEXISTS to\r\n"), oom + ":0\r\n");
  EXPECT_EQ(client.send("SORT l STORE to\r\n"), ":6\r\n");
  const std::string set = encode({"SET", "k", std::string(500000, 'x')});
  EXPECT_EQ(client.send("MULTI\r\n" + set + "SET other x\r\nGET other\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n" + oom + "$-1\r\n");
}

}  // namespace
}  // namespace kv
