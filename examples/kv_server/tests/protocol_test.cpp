// The parser: the same requests and errors whatever pieces the bytes come in, and Redis's errors.
#include "protocol.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "support.hpp"

namespace kv {
namespace {

using test::encode, test::repeat;

struct parsed {
  std::vector<std::vector<std::string>> requests;
  std::string error;
  std::size_t left = 0;  // bytes of a request that is not complete

  bool operator==(const parsed&) const = default;
};

// Feeds the parser pieces as long as `next_piece` says, from memory that moves with every piece.
parsed feed(std::string_view bytes, const std::function<std::size_t()>& next_piece,
            protocol_limits limits = {}) {
  parsed result;
  request_parser parser(limits);
  std::string pending;
  while (!bytes.empty()) {
    const std::size_t count = std::min(next_piece(), bytes.size());
    const auto moved = std::make_unique<std::string>(pending + std::string(bytes.substr(0, count)));
    bytes.remove_prefix(count);
    std::string_view input = *moved;
    for (;;) {
      const auto status = parser.parse(input);
      if (status == request_parser::status::malformed) {
        result.error = parser.error();
        return result;
      }
      if (status == request_parser::status::incomplete) {
        break;
      }
      const request arguments = parser.arguments(input);
      std::vector<std::string>& request = result.requests.emplace_back();
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        request.emplace_back(arguments[i]);
      }
      input.remove_prefix(parser.consumed());
    }
    pending = input;
  }
  result.left = pending.size();
  return result;
}

parsed feed_whole(std::string_view bytes, protocol_limits limits = {}) {
  return feed(bytes, [] { return SIZE_MAX; }, limits);
}

parsed feed_randomly(std::string_view bytes, unsigned seed, std::size_t most) {
  std::mt19937 random(seed);
  return feed(bytes, [&] { return std::uniform_int_distribution<std::size_t>(1, most)(random); });
}

std::string error_of(std::string_view bytes) {
  return feed_whole(bytes).error;
}

using requests = std::vector<std::vector<std::string>>;

TEST(parser, reads_arrays_of_bulk_strings) {
  EXPECT_EQ(feed_whole(encode({"SET", "key", "value"})).requests, (requests{{"SET", "key", "value"}}));
}

TEST(parser, arguments_are_binary_safe) {
  const std::string odd("a\0b\r\n$1\r\n*", 10);
  EXPECT_EQ(feed_whole(encode({"GET", odd, ""})).requests, (requests{{"GET", odd, ""}}));
}

TEST(parser, reads_a_pipeline_of_both_kinds) {
  const std::string bytes = encode({"GET", "a"}) + "PING\r\n" + encode({"DEL", "a", "b"}) + "ECHO x\n";
  EXPECT_EQ(feed_whole(bytes).requests, (requests{{"GET", "a"}, {"PING"}, {"DEL", "a", "b"}, {"ECHO", "x"}}));
}

TEST(parser, empty_requests_have_no_arguments) {
  const parsed got = feed_whole("\r\n*0\r\n*-1\r\n\n  \r\nPING\r\n");
  EXPECT_EQ(got.requests, (requests{{}, {}, {}, {}, {}, {"PING"}}));
}

TEST(parser, keeps_an_incomplete_request) {
  for (const std::string_view half :
       {"*", "*1", "*1\r", "*2\r\n", "*2\r\n$", "*2\r\n$3\r\nGE", "*1\r\n$4\r\nPING", "*1\r\n$4\r\nPING\r",
        "PING", "PING\r", "PING \"a"}) {
    const parsed got = feed_whole(half);
    EXPECT_TRUE(got.requests.empty()) << half;
    EXPECT_EQ(got.error, "") << half;
    EXPECT_EQ(got.left, half.size()) << half;
  }
}

TEST(parser, does_not_look_at_what_redis_does_not_look_at) {
  EXPECT_EQ(feed_whole("*1\rX$4\rYPINGxx").requests, (requests{{"PING"}}));
}

TEST(parser, takes_a_zero_byte_for_the_end_as_redis_does) {
  const std::string bytes("PI\0NG\r\nPING\r\n", 13);
  EXPECT_EQ(feed_whole(bytes).left, bytes.size());
}

TEST(parser, inline_quoting) {
  EXPECT_EQ(feed_whole("SET \"a b\" 'c d'\r\n").requests, (requests{{"SET", "a b", "c d"}}));
  EXPECT_EQ(feed_whole(R"(ECHO "\x41\n\r\t\b\a\q\"\\" 'it\'s \n')"
                       "\n")
                .requests,
            (requests{{"ECHO", "A\n\r\t\b\aq\"\\", "it's \\n"}}));
  EXPECT_EQ(feed_whole("ECHO \"\\x4\" \"\\xzz\"\n").requests, (requests{{"ECHO", "x4", "xzz"}}));
  EXPECT_EQ(feed_whole("\"\" a''\t b\"c\"\n").requests, (requests{{"", "a", "bc"}}));
  EXPECT_EQ(feed_whole("a\vb  \v\fc\n").requests, (requests{{"a\vb", "c"}}));
}

TEST(parser, inline_errors) {
  const std::string unbalanced = "Protocol error: unbalanced quotes in request";
  for (const std::string_view bad : {"ECHO \"a\n", "ECHO 'a\n", "ECHO \"a\"b\n", "ECHO 'a'b\n",
                                     "ECHO \"a\\\"\n", "\"\n", "'\r\n", "ECHO \"a\\\n"}) {
    EXPECT_EQ(error_of(bad), unbalanced) << bad;
  }
}

TEST(parser, array_errors) {
  const std::string count = "Protocol error: invalid multibulk length";
  for (const std::string_view bad :
       {"*\r\n", "*abc\r\n", "*01\r\n", "*+1\r\n", "*-0\r\n", "*1 \r\n", "* 1\r\n", "*2147483648\r\n",
        "*9223372036854775808\r\n", "*1\n$4\r\n"}) {
    EXPECT_EQ(error_of(bad), count) << bad;
  }
  const std::string length = "Protocol error: invalid bulk length";
  for (const std::string_view bad :
       {"$\r\n", "$-1\r\n", "$-0\r\n", "$04\r\n", "$536870913\r\n", "$4294967296\r\n",
        "$18446744073709551616\r\n", "$1x\r\n", "$-9223372036854775808\r\n"}) {
    EXPECT_EQ(error_of("*1\r\n" + std::string(bad)), length) << bad;
  }
  EXPECT_EQ(error_of("*1\r\n+x\r\n"), "Protocol error: expected '$', got '+'");
  EXPECT_EQ(error_of("*1\r\n\r\n"), "Protocol error: expected '$', got ' '");
  EXPECT_EQ(error_of("*2\r\n$1\r\na\r\n\n\r\n"), "Protocol error: expected '$', got ' '");
}

TEST(parser, requests_before_an_error_are_there) {
  const parsed got = feed_whole(encode({"GET", "a"}) + "*1\r\n!\r\n");
  EXPECT_EQ(got.requests, (requests{{"GET", "a"}}));
  EXPECT_EQ(got.error, "Protocol error: expected '$', got '!'");
}

TEST(parser, lines_end_within_64_kib) {
  constexpr std::size_t most = 64 * 1024;
  EXPECT_EQ(error_of(repeat("a", most)), "");
  EXPECT_EQ(error_of(repeat("a", most) + "\n"), "");
  EXPECT_EQ(error_of(repeat("a", most + 1)), "Protocol error: too big inline request");
  EXPECT_EQ(error_of(repeat("a", most + 1) + "\n"), "Protocol error: too big inline request");
  EXPECT_EQ(error_of("*" + repeat("1", most)), "Protocol error: too big mbulk count string");
  EXPECT_EQ(error_of("*1\r\n$" + repeat("1", most)), "Protocol error: too big bulk count string");
  EXPECT_EQ(error_of(std::string(most + 1, '\0')), "Protocol error: too big inline request");
}

TEST(parser, limits_are_settings) {
  const protocol_limits limits{.max_bulk = 10, .max_request = 40};
  EXPECT_EQ(feed_whole(encode({"ECHO", "0123456789"}), limits).error, "");
  EXPECT_EQ(feed_whole("*1\r\n$11\r\n", limits).error, "Protocol error: invalid bulk length");
  EXPECT_EQ(feed_whole(encode({"DEL", "0123456789", "0123456789"}), limits).error,
            "Protocol error: request exceeds client-query-buffer-limit");
}

TEST(parser, a_count_alone_costs_no_memory) {
  request_parser parser{protocol_limits{}};
  EXPECT_EQ(parser.parse("*2147483647\r\n$1\r\na\r\n"), request_parser::status::incomplete);
  EXPECT_LT(parser.memory(), 1024U);
}

TEST(parser, gives_memory_back_after_many_arguments) {
  request_parser parser{protocol_limits{}};
  EXPECT_EQ(parser.parse("*10000\r\n" + repeat("$1\r\na\r\n", 10000)), request_parser::status::complete);
  EXPECT_EQ(parser.parse(""), request_parser::status::incomplete);
  EXPECT_LT(parser.memory(), 1024U);
}

TEST(parser, pieces_do_not_matter) {
  const std::string good = encode({"SET", "key:000000000001", "xxx"}) + "PING\r\n" + encode({"GET", ""}) +
                           "  ECHO \"a\\x00b\" 'c'\n\r\n*0\r\n*1\rX$4\rYPINGxx" +
                           encode({"DEL", "a", "b", "c"});
  for (const std::string_view end :
       {"", "*1\r\n$", "*x\r\n", "*1\r\n$-5\r\n", "*1\r\n?\r\n", "ECHO \"\r\n", "*9999999999\r\n"}) {
    const std::string bytes = good + std::string(end);
    const parsed whole = feed_whole(bytes);
    EXPECT_EQ(whole.requests.size(), 8U) << end;
    EXPECT_EQ(feed(bytes, [] { return 1; }), whole) << end;
    for (unsigned seed = 0; seed < 200; ++seed) {
      ASSERT_EQ(feed_randomly(bytes, seed, 1 + seed % 50), whole) << end << " seed " << seed;
    }
  }
}

// Damaged requests: whatever comes of them comes of them in any pieces.
TEST(parser, pieces_do_not_matter_to_nonsense) {
  const std::string good = repeat(encode({"SET", "key", "value"}) + "GET 'a' \"b\"\r\n", 3);
  const std::string_view alphabet = "*$+-0123456789\r\n\"' \\xaA";
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (unsigned round = 0; round < 5000; ++round) {
    std::string bytes = good;
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const char byte = below(20) == 0 ? '\0' : alphabet[below(alphabet.size())];
      switch (below(3)) {
        case 0:
          bytes[below(bytes.size())] = byte;
          break;
        case 1:
          bytes.insert(below(bytes.size()), 1, byte);
          break;
        default:
          bytes.erase(below(bytes.size()), 1 + below(3));
      }
    }
    ASSERT_EQ(feed_randomly(bytes, round, 1 + below(40)), feed_whole(bytes)) << "round " << round;
  }
}

}  // namespace
}  // namespace kv
