// The alphabets of inputs.
#include "command_input.hpp"

#include <algorithm>
#include <iterator>

namespace kv::fuzz {

namespace {

// clang-format off: it would put each on a line of its own
constexpr std::string_view command_names[] = {
    "append", "blpop", "brpop", "client", "command", "config", "dbsize", "decr", "decrby", "del", "discard",
    "echo", "exec", "exists", "expire", "expireat", "expiretime", "flushall", "flushdb", "get", "getdel",
    "getex", "getrange", "getset", "hdel", "hello", "hexists", "hget", "hgetall", "hincrby", "hincrbyfloat",
    "hkeys", "hlen", "hmget", "hmset", "hset", "hsetnx", "hstrlen", "hvals", "incr", "incrby", "incrbyfloat",
    "info", "keys", "lindex", "linsert", "llen", "lmove", "lpop", "lpush", "lpushx", "lrange", "lrem", "lset",
    "ltrim", "mget", "mset", "msetnx", "multi", "persist", "pexpire", "pexpireat", "pexpiretime", "ping",
    "psetex", "psubscribe", "pttl", "publish", "pubsub", "punsubscribe", "quit", "randomkey", "rename",
    "renamenx", "reset", "rpop", "rpoplpush", "rpush", "rpushx", "sadd", "scan", "scard", "sdiff",
    "sdiffstore", "select", "set", "setex", "setnx", "setrange", "sinter", "sinterstore", "sismember",
    "smembers", "smismember", "smove", "spop", "srandmember", "srem", "strlen", "subscribe", "substr",
    "sunion", "sunionstore", "touch", "ttl", "type", "unlink", "unsubscribe", "unwatch", "watch", "zadd",
    "zcard", "zcount", "zincrby", "zlexcount", "zmscore", "zpopmax", "zpopmin", "zrange", "zrangebylex",
    "zrangebyscore", "zrank", "zrem", "zremrangebylex", "zremrangebyrank", "zremrangebyscore", "zrevrange",
    "zrevrangebylex", "zrevrangebyscore", "zrevrank", "zscore", "debug", "sort",
};

using namespace std::string_view_literals;

constexpr std::string_view alphabet[] = {
    ""sv, "0"sv, "1"sv, "-1"sv, "2"sv, "-2"sv, "3"sv, "10"sv, "-10"sv, "100"sv, "1000"sv, "60000"sv,
    // numbers at the edges, and what is none
    "9223372036854775807"sv, "-9223372036854775808"sv, "9223372036854775808"sv, "9223372036854775806"sv,
    "-9223372036854775807"sv, "9223372036854775"sv, "9223372036854776"sv, "9223370336854775807"sv,
    "4294967296"sv, "2147483647"sv, "4095"sv, "4096"sv, "1700000001"sv, "1700000001000"sv, "01"sv, "+1"sv,
    " 1"sv, "1 "sv, "-0"sv, "1.5"sv, "-0.0"sv, "0.1"sv, "1e3"sv, "1e308"sv, "-1e308"sv, "1e400"sv, "1e-400"sv,
    "1e4000"sv, "nan"sv, "inf"sv, "-inf"sv, "+inf"sv, "0x10"sv, "1e"sv, "1\0"sv,
    // items, members, fields
    "a"sv, "b"sv, "c"sv, "d"sv, "e"sv, "A"sv, "abc"sv, "foobar"sv, "\0"sv, "a\0b"sv, "\xff"sv, "\r\n"sv,
    "fifteen letters"sv, "sixteen letters!"sv, "seventeen letters"sv,
    "a text of sixty-five bytes, one more than what is always assigned"sv,
    // ends of ranges
    "(1"sv, "(0"sv, "("sv, "(inf"sv, "(-inf"sv, "(nan"sv, "-"sv, "+"sv, "[a"sv, "(a"sv, "[c"sv, "(c"sv, "["sv,
    // options
    "NX"sv, "XX"sv, "GT"sv, "LT"sv, "CH"sv, "INCR"sv, "EX"sv, "PX"sv, "EXAT"sv, "PXAT"sv, "KEEPTTL"sv,
    "PERSIST"sv, "GET"sv, "LEFT"sv, "RIGHT"sv, "BEFORE"sv, "AFTER"sv, "MATCH"sv, "COUNT"sv, "TYPE"sv,
    "LIMIT"sv, "WITHSCORES"sv, "BYSCORE"sv, "BYLEX"sv, "REV"sv, "SYNC"sv, "ASYNC"sv, "string"sv, "list"sv,
    "set"sv, "hash"sv, "zset"sv,
    // patterns
    "*"sv, "?"sv, "a*"sv, "*b*"sv, "[a-c]"sv, "[^a]"sv, "[c-a]*"sv, "\\"sv, "[\\"sv, "[a-"sv, "\\*"sv,
    "***a"sv,
    // subcommands and their arguments
    "ID"sv, "GETNAME"sv, "SETNAME"sv, "SETINFO"sv, "DOCS"sv, "INFO"sv, "LIST"sv, "CHANNELS"sv, "NUMSUB"sv,
    "NUMPAT"sv, "maxmemory"sv, "max*"sv, "all"sv, "memory"sv, "keyspace"sv, "nonsense"sv,
    "SEGFAULT"sv, "LOOP"sv, "ASC"sv, "DESC"sv, "ALPHA"sv, "STORE"sv,
};
// clang-format on

constexpr std::int64_t steps_of_time[] = {1,    2,    499,  500,    501,     999,
                                          1000, 1001, 9999, 60'000, 100'000, 10'000'000'000};

// Up to 127 a key of the kind the command is for, up to 191 one that all share, else one of many.
std::string read_key(reader& input, std::string_view group) {
  const unsigned byte = input.byte();
  if (byte < 128) {
    return std::string(group.substr(0, 4)) + static_cast<char>('0' + byte % 3);
  }
  if (byte < 192) {
    static constexpr std::string_view shared[] = {"a"sv, "b"sv, ""sv, "\0k"sv, "a key's name that is long"sv};
    return std::string(shared[byte % std::size(shared)]);
  }
  return "k" + std::to_string(byte);
}

std::string read_word(reader& input) {
  const unsigned byte = input.byte();
  if (byte < std::size(alphabet)) {
    return std::string(alphabet[byte]);
  }
  if (byte < 240) {
    return "m" + std::to_string(byte);
  }
  if (byte < 248) {
    return std::string(input.bytes(input.byte() % 32U));
  }
  return std::string(std::size_t{1} << (3 + byte % 8), 'x');
}

bool is_key(const key_range& keys, std::size_t index, std::size_t count) {
  if (keys.first == 0 || index < static_cast<std::size_t>(keys.first)) {
    return false;
  }
  const auto last = keys.last < 0 ? static_cast<std::ptrdiff_t>(count) + keys.last : keys.last;
  return static_cast<std::ptrdiff_t>(index) <= last &&
         (index - static_cast<std::size_t>(keys.first)) % static_cast<std::size_t>(keys.step) == 0;
}

// How many arguments, the name included: as many as the command must have, and up to seven more if it may.
std::size_t read_count(reader& input, int arity) {
  if (arity >= 0) {
    return static_cast<std::size_t>(arity);
  }
  return static_cast<std::size_t>(-arity) + input.byte() % 8U;
}

words read_command(reader& input, std::string_view name) {
  const command& found = *find_command(name);
  const std::size_t count = read_count(input, found.arity);
  words arguments{std::string(name)};
  for (std::size_t i = 1; i < count; ++i) {
    arguments.push_back(is_key(found.keys, i, count) ? read_key(input, found.group) : read_word(input));
  }
  return arguments;
}

// Bytes that stand for what is not a command of the right arity.
constexpr unsigned time_passes = 255, keys_expire = 254, other_client = 253, client_leaves = 252,
                   client_stream_ends = 251, wait_is_over = 250, scan_goes_on = 249, everything_flushed = 248,
                   one_argument_less = 247, one_argument_more = 246, free_words = 245, in_pieces = 244,
                   many_arguments = 243;

words read_command(reader& input, unsigned code) {
  return read_command(input, command_names[code % std::size(command_names)]);
}

step read_odd_command(reader& input, unsigned code) {
  step read{event::command, 0, SIZE_MAX, read_command(input, input.byte())};
  if (code == one_argument_less && read.arguments.size() > 1) {
    read.arguments.pop_back();
  } else if (code == one_argument_more) {
    read.arguments.push_back(read_word(input));
  } else if (code == many_arguments) {  // numbers are scores, names and keys alike
    for (unsigned number = 0, count = 10 * input.byte() / 2; number < count; ++number) {
      read.arguments.push_back(std::to_string(number));
    }
  } else if (code == in_pieces) {
    read.piece = input.byte() % 16U + 1;
  }
  return read;
}

}  // namespace

step read_step(reader& input) {
  const unsigned code = input.byte();
  switch (code) {
    case time_passes:
      return {event::time_passes, input.byte()};
    case keys_expire:
      return {event::keys_expire, input.byte()};
    case other_client:
      return {event::other_client, input.byte()};
    case client_leaves:
      return {event::client_leaves};
    case client_stream_ends:
      return {event::client_stream_ends};
    case wait_is_over:
      return {event::wait_is_over};
    case scan_goes_on:
      return {event::scan_goes_on, input.byte()};
    case everything_flushed:
      return {event::everything_flushed};
    case one_argument_less:
    case one_argument_more:
    case in_pieces:
    case many_arguments:
      return read_odd_command(input, code);
    case free_words: {
      words arguments;
      for (unsigned count = input.byte() % 4U + 1; count != 0; --count) {
        arguments.push_back(read_word(input));
      }
      return {event::command, 0, SIZE_MAX, std::move(arguments)};
    }
    default:
      return {event::command, 0, SIZE_MAX, read_command(input, code)};
  }
}

std::int64_t step_of_time(std::uint8_t number) {
  return steps_of_time[number % std::size(steps_of_time)];
}

void check_command_names() {
  static_assert(std::size(command_names) <= many_arguments && std::size(alphabet) <= 240);
  for (const command& each : all_commands()) {
    require(
        std::find(std::begin(command_names), std::end(command_names), each.name) != std::end(command_names),
        "every command can be named: add " + std::string(each.name) + " at the end of command_names");
  }
}

}  // namespace kv::fuzz
