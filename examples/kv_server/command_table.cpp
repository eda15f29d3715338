// The table of commands: arity, flags and positions of keys are Redis's own, but for EXEC's arity.
#include "handlers.hpp"

namespace kv {

namespace {

using namespace flag;

constexpr key_range no_keys{0, 0, 0};
constexpr key_range first_argument{1, 1, 1};
constexpr key_range two_arguments{1, 2, 1};
constexpr key_range every_argument{1, -1, 1};
constexpr key_range every_other{1, -1, 2};
constexpr key_range all_but_last{1, -2, 1};

constexpr unsigned handshake = noscript | loading | stale | fast | no_auth;
constexpr unsigned listening = pubsub | noscript | loading | stale | subscriber;

constexpr command table[] = {
    {"auth", -2, handshake, no_keys, "connection", "1.0.0", "Log in; there are no passwords", handlers::auth},
    {"blpop", -3, write | noscript | blocking, all_but_last, "list", "2.0.0",
     "Take the first item of a list, or wait for one", handlers::blpop},
    {"brpop", -3, write | noscript | blocking, all_but_last, "list", "2.0.0",
     "Take the last item of a list, or wait for one", handlers::brpop},
    {"client", -2, 0, no_keys, "connection", "2.4.0", "Ask or say something about this connection",
     run_subcommand, &handlers::client_choices},
    {"command", -1, loading | stale, no_keys, "server", "2.8.13", "Describe the server's commands",
     handlers::command, &handlers::command_choices},
    {"config", -2, 0, no_keys, "server", "2.0.0", "Read the server's settings", run_subcommand,
     &handlers::config_choices},
    {"dbsize", 1, readonly | fast, no_keys, "server", "1.0.0", "Count the keys", handlers::dbsize},
    {"debug", -2, admin | noscript | loading | stale, no_keys, "server", "1.0.0",
     "Do what only those who test the server want", handlers::debug, &handlers::debug_choices},
    {"del", -2, write, every_argument, "generic", "1.0.0", "Delete keys", handlers::del},
    {"discard", 1, noscript | loading | stale | fast | at_once, no_keys, "transactions", "2.0.0",
     "Forget what was queued since MULTI", handlers::discard},
    {"echo", 2, loading | stale | fast, no_keys, "connection", "1.0.0", "Send the argument back",
     handlers::echo},
    {"exec", -1, noscript | loading | stale | at_once, no_keys, "transactions", "1.2.0",
     "Run what was queued since MULTI", handlers::exec},
    {"exists", -2, readonly | fast, every_argument, "generic", "1.0.0", "Count which of the keys exist",
     handlers::exists},
    {"flushall", -1, write, no_keys, "server", "1.0.0", "Delete all keys", handlers::flushall},
    {"get", 2, readonly | fast, first_argument, "string", "1.0.0", "Get the value of a key", handlers::get},
    {"hello", -1, handshake, no_keys, "connection", "6.0.0", "Agree on the protocol's version",
     handlers::hello},
    {"hget", 3, readonly | fast, first_argument, "hash", "2.0.0", "Get the value of a field", handlers::hget},
    {"hlen", 2, readonly | fast, first_argument, "hash", "2.0.0", "Count the fields of a hash",
     handlers::hlen},
    {"hset", -4, write | denyoom | fast, first_argument, "hash", "2.0.0", "Set the values of fields",
     handlers::hset},
    {"incr", 2, write | denyoom | fast, first_argument, "string", "1.0.0", "Add one to an integer value",
     handlers::incr},
    {"info", -1, loading | stale, no_keys, "server", "1.0.0", "Report on the server", handlers::info},
    {"keys", 2, readonly, no_keys, "generic", "1.0.0", "List the keys that match a pattern", handlers::keys},
    {"llen", 2, readonly | fast, first_argument, "list", "1.0.0", "Count the items of a list",
     handlers::llen},
    {"lpop", -2, write | fast, first_argument, "list", "1.0.0", "Take the first items of a list",
     handlers::lpop},
    {"lpush", -3, write | denyoom | fast, first_argument, "list", "1.0.0",
     "Put items at the beginning of a list", handlers::lpush},
    {"lrange", 4, readonly, first_argument, "list", "1.0.0", "Get a range of items", handlers::lrange},
    {"mget", -2, readonly | fast, every_argument, "string", "1.0.0", "Get the values of keys",
     handlers::mget},
    {"mset", -3, write | denyoom, every_other, "string", "1.0.1", "Set the values of keys", handlers::mset},
    {"multi", 1, noscript | loading | stale | fast | at_once, no_keys, "transactions", "1.2.0",
     "Queue what follows until EXEC", handlers::multi},
    {"ping", -1, fast | subscriber, no_keys, "connection", "1.0.0", "Answer PONG, or the argument",
     handlers::ping},
    {"publish", 3, pubsub | loading | stale | fast, no_keys, "pubsub", "2.0.0", "Send a message to a channel",
     handlers::publish},
    {"quit", -1, handshake | subscriber | at_once, no_keys, "connection", "1.0.0", "Close the connection",
     handlers::quit},
    {"reset", 1, handshake | subscriber | at_once, no_keys, "connection", "6.2.0",
     "Make the connection as it was in the beginning", handlers::reset},
    {"rpop", -2, write | fast, first_argument, "list", "1.0.0", "Take the last items of a list",
     handlers::rpop},
    {"rpush", -3, write | denyoom | fast, first_argument, "list", "1.0.0", "Put items at the end of a list",
     handlers::rpush},
    {"sadd", -3, write | denyoom | fast, first_argument, "set", "1.0.0", "Add members to a set",
     handlers::sadd},
    {"scard", 2, readonly | fast, first_argument, "set", "1.0.0", "Count the members of a set",
     handlers::scard},
    {"sdiff", -2, readonly, every_argument, "set", "1.0.0",
     "Get the members of the first set that are in no other", handlers::sdiff},
    {"sdiffstore", -3, write | denyoom, every_argument, "set", "1.0.0", "Store what SDIFF gets",
     handlers::sdiffstore},
    {"select", 2, loading | stale | fast, no_keys, "connection", "1.0.0", "Choose the database; there is one",
     handlers::select},
    {"set", -3, write | denyoom, first_argument, "string", "1.0.0", "Set the value of a key", handlers::set},
    {"sinter", -2, readonly, every_argument, "set", "1.0.0", "Get the members that are in all sets",
     handlers::sinter},
    {"sinterstore", -3, write | denyoom, every_argument, "set", "1.0.0", "Store what SINTER gets",
     handlers::sinterstore},
    {"sismember", 3, readonly | fast, first_argument, "set", "1.0.0", "Tell whether a set has a member",
     handlers::sismember},
    {"smembers", 2, readonly, first_argument, "set", "1.0.0", "Get all members of a set", handlers::smembers},
    {"smove", 4, write | fast, two_arguments, "set", "1.0.0", "Move a member from a set to another",
     handlers::smove},
    {"sort", -2, write | denyoom, first_argument, "generic", "1.0.0",
     "Sort a list, a set or a sorted set, and get or store that", handlers::sort},
    {"spop", -2, write | fast, first_argument, "set", "1.0.0", "Take members at random", handlers::spop},
    {"srem", -3, write | fast, first_argument, "set", "1.0.0", "Remove members from a set", handlers::srem},
    {"subscribe", -2, listening, no_keys, "pubsub", "2.0.0", "Listen to channels", handlers::subscribe},
    {"sunion", -2, readonly, every_argument, "set", "1.0.0", "Get the members that are in any set",
     handlers::sunion},
    {"sunionstore", -3, write | denyoom, every_argument, "set", "1.0.0", "Store what SUNION gets",
     handlers::sunionstore},
    {"type", 2, readonly | fast, first_argument, "generic", "1.0.0", "Tell the type of a key's value",
     handlers::type},
    {"unsubscribe", -1, listening, no_keys, "pubsub", "2.0.0", "Listen to channels no longer",
     handlers::unsubscribe},
    {"unwatch", 1, noscript | loading | stale | fast, no_keys, "transactions", "2.2.0",
     "Forget all keys that are watched", handlers::unwatch},
    {"watch", -2, noscript | loading | stale | fast | at_once, every_argument, "transactions", "2.2.0",
     "Have EXEC refuse if keys change before", handlers::watch},
    {"zadd", -4, write | denyoom | fast, first_argument, "sorted-set", "1.2.0",
     "Add members to a sorted set, or change their scores", handlers::zadd},
    {"zcard", 2, readonly | fast, first_argument, "sorted-set", "1.2.0", "Count the members of a sorted set",
     handlers::zcard},
    {"zpopmin", -2, write | fast, first_argument, "sorted-set", "5.0.0",
     "Take the members with the lowest scores", handlers::zpopmin},
    {"zscore", 3, readonly | fast, first_argument, "sorted-set", "1.2.0", "Get the score of a member",
     handlers::zscore},
};

}  // namespace

std::span<const command> all_commands() {
  return table;
}

}  // namespace kv
