// The function behind each row of the command table, by the file it is in.
#pragma once

#include "commands.hpp"

namespace kv::handlers {

// string_commands.cpp
void get(invocation& call);
void incr(invocation& call);
void mget(invocation& call);
void mset(invocation& call);
void set(invocation& call);

// list_commands.cpp
void blpop(invocation& call);
void brpop(invocation& call);
void llen(invocation& call);
void lpop(invocation& call);
void lpush(invocation& call);
void lrange(invocation& call);
void rpop(invocation& call);
void rpush(invocation& call);

// set_commands.cpp
void sadd(invocation& call);
void scard(invocation& call);
void sdiff(invocation& call);
void sdiffstore(invocation& call);
void sinter(invocation& call);
void sinterstore(invocation& call);
void sismember(invocation& call);
void smembers(invocation& call);
void smove(invocation& call);
void spop(invocation& call);
void srem(invocation& call);
void sunion(invocation& call);
void sunionstore(invocation& call);

// hash_commands.cpp
void hget(invocation& call);
void hlen(invocation& call);
void hset(invocation& call);

// sorted_set_commands.cpp
void zadd(invocation& call);
void zcard(invocation& call);
void zpopmin(invocation& call);
void zscore(invocation& call);

// sort_commands.cpp
void sort(invocation& call);

// generic_commands.cpp
void dbsize(invocation& call);
void del(invocation& call);
void exists(invocation& call);
void flushall(invocation& call);
void keys(invocation& call);
void type(invocation& call);

// pubsub_commands.cpp
void publish(invocation& call);
void subscribe(invocation& call);
void unsubscribe(invocation& call);
void unsubscribe_all(invocation& call);  // without a reply; no command of its own

// transaction_commands.cpp
void discard(invocation& call);
void exec(invocation& call);
void multi(invocation& call);
void reset(invocation& call);
void unwatch(invocation& call);
void watch(invocation& call);

// connection_commands.cpp
void auth(invocation& call);
extern const std::span<const subcommand> client_choices;
void echo(invocation& call);
void hello(invocation& call);
void ping(invocation& call);
void quit(invocation& call);
void select(invocation& call);

// debug_commands.cpp
void debug(invocation& call);
extern const std::span<const subcommand> debug_choices;

// server_commands.cpp
void command(invocation& call);
extern const std::span<const subcommand> command_choices;
extern const std::span<const subcommand> config_choices;
void info(invocation& call);

}  // namespace kv::handlers
