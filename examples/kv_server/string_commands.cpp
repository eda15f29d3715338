// Commands on strings, on hashes, and on keys whatever their values.
#include "commands.hpp"
#include "integer.hpp"

namespace kv::handlers {

void get(invocation& call) {
  const auto* found = read<stored_text>(call, call.arguments[1]);
  found == nullptr ? call.reply.null() : call.reply.bulk(*found);
}

void set(invocation& call) {
  if (call.arguments.size() > 3) {
    fail(syntax_error);  // no options
  }
  call.server.keys.set(call.arguments[1], call.arguments[2]);
  call.reply.ok();
}

void mset(invocation& call) {
  if (call.arguments.size() % 2 == 0) {
    fail_arity("mset");
  }
  for (std::size_t i = 1; i < call.arguments.size(); i += 2) {
    call.server.keys.set(call.arguments[i], call.arguments[i + 1]);
  }
  call.reply.ok();
}

void incr(invocation& call) {
  change<stored_text> held(call.server.keys, call.arguments[1]);
  std::int64_t number = 0;
  if (held) {
    const auto old = parse_integer(*held);
    if (!old) {
      held.unchanged();
      fail(not_an_integer);
    }
    number = *old;
  }
  if (__builtin_add_overflow(number, 1, &number)) {
    held.unchanged();
    fail("ERR increment or decrement would overflow");
  }
  char digits[integer_digits];
  held.or_create().assign(digits, write_integer(digits, number));
  call.reply.integer(number);
}

void hset(invocation& call) {
  if (call.arguments.size() % 2 != 0) {
    fail_arity("hset");
  }
  change<hash_value> hash(call.server.keys, call.arguments[1]);
  hash_value& fields = hash.or_create();
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    const auto found = fields.find(call.arguments[i]);
    if (found == fields.end()) {
      fields.emplace(call.arguments[i], call.arguments[i + 1]);
      ++added;
    } else {
      assign_text(found->second, call.arguments[i + 1]);
    }
  }
  call.reply.integer(added);
}

void hget(invocation& call) {
  const auto* hash = read<hash_value>(call, call.arguments[1]);
  if (hash == nullptr || hash->find(call.arguments[2]) == hash->end()) {
    call.reply.null();
  } else {
    call.reply.bulk(hash->find(call.arguments[2])->second);
  }
}

void del(invocation& call) {
  std::int64_t deleted = 0;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    deleted += call.server.keys.erase(call.arguments[i]) ? 1 : 0;
  }
  call.reply.integer(deleted);
}

// The background work of the front frees the memory, with SYNC and with ASYNC.
void flushall(invocation& call) {
  const request& arguments = call.arguments;
  if (arguments.size() > 2 || (arguments.size() == 2 && !equals_ignoring_case(arguments[1], "sync") &&
                               !equals_ignoring_case(arguments[1], "async"))) {
    fail(syntax_error);
  }
  count(call, 64);  // it allocates a new table
  call.server.keys.clear();
  call.reply.ok();
}

}  // namespace kv::handlers
