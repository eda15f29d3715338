// Commands on hashes: HSET HGET HDEL HGETALL and their kin.
#include <cmath>

#include "arguments.hpp"
#include "handlers.hpp"
#include "integer.hpp"

namespace kv::handlers {

namespace {

// Sets pairs of fields and values; returns how many fields are new.
std::int64_t set_fields(invocation& call, std::string_view command) {
  if (call.arguments.size() % 2 != 0) {
    fail_arity(command);
  }
  change<hash_value> hash(call, call.arguments[1]);
  hash_value& fields = hash.or_create();
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    added += fields.set(call.arguments[i], call.arguments[i + 1]) ? 1 : 0;
  }
  return added;
}

const std::string* find_field(invocation& call, std::string_view field) {
  const auto* hash = read<hash_value>(call, call.arguments[1]);
  return hash == nullptr ? nullptr : hash->find(field);
}

void reply_or_null(reply_writer& reply, const std::string* text) {
  if (text == nullptr) {
    reply.null();
  } else {
    reply.bulk(*text);
  }
}

void reply_fields(invocation& call, bool names, bool values) {
  const auto* hash = read<hash_value>(call, call.arguments[1]);
  if (hash == nullptr) {
    call.reply.array(0);
    return;
  }
  call.reply.array(hash->size() * ((names ? 1 : 0) + (values ? 1 : 0)));
  for (const auto& field : *hash) {
    if (names) {
      call.reply.bulk(field.name);
    }
    if (values) {
      call.reply.bulk(field.content);
    }
  }
}

}  // namespace

void hset(invocation& call) {
  call.reply.integer(set_fields(call, "hset"));
}

void hmset(invocation& call) {
  set_fields(call, "hmset");
  call.reply.ok();
}

void hsetnx(invocation& call) {
  change<hash_value> hash(call, call.arguments[1]);
  if (hash && hash->find(call.arguments[2]) != nullptr) {
    hash.unchanged();
    call.reply.integer(0);
    return;
  }
  hash.or_create().set(call.arguments[2], call.arguments[3]);
  call.reply.integer(1);
}

void hget(invocation& call) {
  reply_or_null(call.reply, find_field(call, call.arguments[2]));
}

void hmget(invocation& call) {
  const auto* hash = read<hash_value>(call, call.arguments[1]);
  call.reply.array(call.arguments.size() - 2);
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    reply_or_null(call.reply, hash == nullptr ? nullptr : hash->find(call.arguments[i]));
  }
}

void hgetall(invocation& call) {
  reply_fields(call, true, true);
}

void hkeys(invocation& call) {
  reply_fields(call, true, false);
}

void hvals(invocation& call) {
  reply_fields(call, false, true);
}

void hexists(invocation& call) {
  call.reply.integer(find_field(call, call.arguments[2]) != nullptr ? 1 : 0);
}

void hlen(invocation& call) {
  const auto* hash = read<hash_value>(call, call.arguments[1]);
  call.reply.integer(hash == nullptr ? 0 : static_cast<std::int64_t>(hash->size()));
}

void hstrlen(invocation& call) {
  const std::string* found = find_field(call, call.arguments[2]);
  call.reply.integer(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
}

void hdel(invocation& call) {
  erase_members<hash_value>(call);
}

void hincrby(invocation& call) {
  const std::int64_t increment = integer_argument(call, 3);
  std::int64_t number = 0;
  if (const std::string* old = find_field(call, call.arguments[2])) {
    const auto read = parse_integer(*old);
    if (!read) {
      fail("ERR hash value is not an integer");
    }
    number = *read;
  }
  if (__builtin_add_overflow(number, increment, &number)) {
    fail("ERR increment or decrement would overflow");
  }
  char text[integer_digits];
  change<hash_value>(call, call.arguments[1])
      .or_create()
      .set(call.arguments[2], {text, static_cast<std::size_t>(write_integer(text, number) - text)});
  call.reply.integer(number);
}

void hincrbyfloat(invocation& call) {
  const auto increment = parse_long_double(call.arguments[3]);
  if (!increment) {
    fail(not_a_float);
  }
  if (!std::isfinite(*increment)) {
    fail("ERR value is NaN or Infinity");
  }
  const std::string* old = find_field(call, call.arguments[2]);
  const auto number = old == nullptr ? 0.0L : parse_long_double(*old);
  if (!number) {
    fail("ERR hash value is not a float");
  }
  if (!std::isfinite(*number + *increment)) {
    fail("ERR increment would produce NaN or Infinity");
  }
  const std::string sum = human_text(*number + *increment);
  change<hash_value>(call, call.arguments[1]).or_create().set(call.arguments[2], sum);
  call.reply.bulk(sum);
}

}  // namespace kv::handlers
