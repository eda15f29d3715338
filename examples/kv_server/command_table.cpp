// The table of commands. Arities are those of redis-server, except EXEC's and those of commands whose options
// are left out. The rows are in alphabetical order.
#include "commands.hpp"

namespace kv {

namespace handlers {

// connection_commands.cpp
void auth(invocation&), echo(invocation&), hello(invocation&), ping(invocation&), quit(invocation&);
void info(invocation&), describe(invocation&), configuration(invocation&);
// value_commands.cpp
void get(invocation&), set(invocation&), incr(invocation&), flushall(invocation&), hget(invocation&);
void mset(invocation&), del(invocation&), hset(invocation&);
void blpop(invocation&), lrange(invocation&), push(invocation&, list_end), pop(invocation&, list_end);
// set_commands.cpp, sort_commands.cpp
void sadd(invocation&), srem(invocation&), smove(invocation&), spop(invocation&);
void combine(invocation&, operation, std::size_t first);
void zadd(invocation&), zpopmin(invocation&), sort(invocation&);
// client_commands.cpp
void publish(invocation&), subscribe(invocation&), unsubscribe(invocation&);
void multi(invocation&), exec(invocation&), discard(invocation&), watch(invocation&), unwatch(invocation&);

}  // namespace handlers

namespace {

using namespace handlers;

constexpr list_end left = list_end::left, right = list_end::right;
constexpr operation united = operation::united, common = operation::intersection,
                    without = operation::difference;

// clang-format off
constexpr command table[] = {
    {"auth", -2, 0, "connection", "1.0.0", "Log in; there are no passwords", auth},
    {"blpop", -3, 0, "list", "2.0.0", "Take the first item of a list, or wait for one", blpop},
    {"command", -2, 0, "server", "2.8.13", "Describe the server's commands", describe},
    {"config", -2, 0, "server", "2.0.0", "Read the server's settings", configuration},
    {"del", -2, 0, "generic", "1.0.0", "Delete keys", del},
    {"discard", 1, at_once, "transactions", "2.0.0", "Forget what was queued since MULTI", discard},
    {"echo", 2, 0, "connection", "1.0.0", "Send the argument back", echo},
    {"exec", -1, at_once, "transactions", "1.2.0", "Run what was queued since MULTI", exec},
    {"flushall", -1, 0, "server", "1.0.0", "Delete all keys", flushall},
    {"get", 2, 0, "string", "1.0.0", "Get the value of a key", get},
    {"hello", -1, 0, "connection", "6.0.0", "Agree on the protocol's version", hello},
    {"hget", 3, 0, "hash", "2.0.0", "Get the value of a field", hget},
    {"hset", -4, denyoom, "hash", "2.0.0", "Set the values of fields", hset},
    {"incr", 2, denyoom, "string", "1.0.0", "Add one to an integer value", incr},
    {"info", -1, 0, "server", "1.0.0", "Report on the server", info},
    {"lpop", 2, 0, "list", "1.0.0", "Take the first item of a list", [](invocation& call) { pop(call, left); }},
    {"lpush", -3, denyoom, "list", "1.0.0", "Put items at the beginning of a list", [](invocation& call) { push(call, left); }},
    {"lrange", 4, 0, "list", "1.0.0", "Get a range of items", lrange},
    {"mset", -3, denyoom, "string", "1.0.1", "Set the values of keys", mset},
    {"multi", 1, at_once, "transactions", "1.2.0", "Queue what follows until EXEC", multi},
    {"ping", -1, subscriber, "connection", "1.0.0", "Answer PONG, or the argument", ping},
    {"publish", 3, 0, "pubsub", "2.0.0", "Send a message to a channel", publish},
    {"quit", -1, subscriber | at_once, "connection", "1.0.0", "Close the connection", quit},
    {"rpop", 2, 0, "list", "1.0.0", "Take the last item of a list", [](invocation& call) { pop(call, right); }},
    {"rpush", -3, denyoom, "list", "1.0.0", "Put items at the end of a list", [](invocation& call) { push(call, right); }},
    {"sadd", -3, denyoom, "set", "1.0.0", "Add members to a set", sadd},
    {"sdiff", -2, 0, "set", "1.0.0", "Get the members of the first set that are in no other", [](invocation& call) { combine(call, without, 1); }},
    {"sdiffstore", -3, denyoom, "set", "1.0.0", "Store what SDIFF gets", [](invocation& call) { combine(call, without, 2); }},
    {"set", -3, denyoom, "string", "1.0.0", "Set the value of a key", set},
    {"sinter", -2, 0, "set", "1.0.0", "Get the members that are in all sets", [](invocation& call) { combine(call, common, 1); }},
    {"sinterstore", -3, denyoom, "set", "1.0.0", "Store what SINTER gets", [](invocation& call) { combine(call, common, 2); }},
    {"smembers", 2, 0, "set", "1.0.0", "Get all members of a set", [](invocation& call) { combine(call, united, 1); }},
    {"smove", 4, 0, "set", "1.0.0", "Move a member from a set to another", smove},
    {"sort", -2, 0, "generic", "1.0.0", "Get the elements of a list, a set or a sorted set in order", sort},
    {"spop", 2, 0, "set", "1.0.0", "Take a member at random", spop},
    {"srem", -3, 0, "set", "1.0.0", "Remove members from a set", srem},
    {"subscribe", -2, subscriber, "pubsub", "2.0.0", "Listen to channels", subscribe},
    {"sunion", -2, 0, "set", "1.0.0", "Get the members that are in any set", [](invocation& call) { combine(call, united, 1); }},
    {"sunionstore", -3, denyoom, "set", "1.0.0", "Store what SUNION gets", [](invocation& call) { combine(call, united, 2); }},
    {"unsubscribe", -1, subscriber, "pubsub", "2.0.0", "Listen to channels no longer", unsubscribe},
    {"unwatch", 1, 0, "transactions", "2.2.0", "Forget all keys that are watched", unwatch},
    {"watch", -2, at_once, "transactions", "2.2.0", "Make EXEC refuse if keys change before", watch},
    {"zadd", -4, denyoom, "sorted-set", "1.2.0", "Add members, or change their scores", zadd},
    {"zpopmin", 2, 0, "sorted-set", "5.0.0", "Take the member with the lowest score", zpopmin},
};
// clang-format on

}  // namespace

std::span<const command> all_commands() {
  return table;
}

}  // namespace kv
