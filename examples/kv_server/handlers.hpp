// The function behind each row of the command table, by the file it is in.
#pragma once

#include "commands.hpp"

namespace kv::handlers {

// string_commands.cpp
void append(invocation& call);
void get(invocation& call);
void getdel(invocation& call);
void getex(invocation& call);
void getrange(invocation& call);
void getset(invocation& call);
void mget(invocation& call);
void mset(invocation& call);
void msetnx(invocation& call);
void psetex(invocation& call);
void set(invocation& call);
void setex(invocation& call);
void setnx(invocation& call);
void setrange(invocation& call);
void strlen(invocation& call);

// number_commands.cpp
void decr(invocation& call);
void decrby(invocation& call);
void incr(invocation& call);
void incrby(invocation& call);
void incrbyfloat(invocation& call);

// list_commands.cpp
void blpop(invocation& call);
void brpop(invocation& call);
void lindex(invocation& call);
void linsert(invocation& call);
void llen(invocation& call);
void lmove(invocation& call);
void lpop(invocation& call);
void lpush(invocation& call);
void lpushx(invocation& call);
void lrange(invocation& call);
void lrem(invocation& call);
void lset(invocation& call);
void ltrim(invocation& call);
void rpop(invocation& call);
void rpoplpush(invocation& call);
void rpush(invocation& call);
void rpushx(invocation& call);

// set_commands.cpp
void sadd(invocation& call);
void scard(invocation& call);
void sdiff(invocation& call);
void sdiffstore(invocation& call);
void sinter(invocation& call);
void sinterstore(invocation& call);
void sismember(invocation& call);
void smembers(invocation& call);
void smismember(invocation& call);
void smove(invocation& call);
void spop(invocation& call);
void srandmember(invocation& call);
void srem(invocation& call);
void sunion(invocation& call);
void sunionstore(invocation& call);

// hash_commands.cpp
void hdel(invocation& call);
void hexists(invocation& call);
void hget(invocation& call);
void hgetall(invocation& call);
void hincrby(invocation& call);
void hincrbyfloat(invocation& call);
void hkeys(invocation& call);
void hlen(invocation& call);
void hmget(invocation& call);
void hmset(invocation& call);
void hset(invocation& call);
void hsetnx(invocation& call);
void hstrlen(invocation& call);
void hvals(invocation& call);

// sorted_set_commands.cpp
void zadd(invocation& call);
void zcard(invocation& call);
void zincrby(invocation& call);
void zmscore(invocation& call);
void zpopmax(invocation& call);
void zpopmin(invocation& call);
void zrank(invocation& call);
void zrem(invocation& call);
void zrevrank(invocation& call);
void zscore(invocation& call);

// sorted_set_ranges.cpp
void zcount(invocation& call);
void zlexcount(invocation& call);
void zrange(invocation& call);
void zrangebylex(invocation& call);
void zrangebyscore(invocation& call);
void zremrangebylex(invocation& call);
void zremrangebyrank(invocation& call);
void zremrangebyscore(invocation& call);
void zrevrange(invocation& call);
void zrevrangebylex(invocation& call);
void zrevrangebyscore(invocation& call);

// sort_commands.cpp
void sort(invocation& call);

// expiry_commands.cpp
void expire(invocation& call);
void expireat(invocation& call);
void expiretime(invocation& call);
void persist(invocation& call);
void pexpire(invocation& call);
void pexpireat(invocation& call);
void pexpiretime(invocation& call);
void pttl(invocation& call);
void ttl(invocation& call);

// generic_commands.cpp
void dbsize(invocation& call);
void del(invocation& call);
void exists(invocation& call);
void flushall(invocation& call);
void keys(invocation& call);
void randomkey(invocation& call);
void rename(invocation& call);
void renamenx(invocation& call);
void scan(invocation& call);
void type(invocation& call);

// pubsub_commands.cpp
void psubscribe(invocation& call);
void publish(invocation& call);
extern const std::span<const subcommand> pubsub_choices;
void punsubscribe(invocation& call);
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
extern const std::span<const subcommand> client_choices;
void echo(invocation& call);
void hello(invocation& call);
void ping(invocation& call);
void quit(invocation& call);
void select(invocation& call);

// debug_commands.cpp
void debug(invocation& call);

// server_commands.cpp
void command(invocation& call);
extern const std::span<const subcommand> command_choices;
extern const std::span<const subcommand> config_choices;
void info(invocation& call);

}  // namespace kv::handlers
