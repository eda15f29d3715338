// Commands on strings, lists and hashes, and on keys whatever their values.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "commands.hpp"
#include "integer.hpp"

namespace kv::handlers {

namespace {

// Turns a time-out in seconds into a deadline. Returns max() for no deadline.
std::chrono::steady_clock::time_point deadline_argument(const invocation& call, std::size_t index) {
  using std::chrono::steady_clock, std::chrono::milliseconds;
  const auto seconds = parse_double(call.arguments[index]);
  if (!seconds) {
    fail("ERR timeout is not a float or out of range");
  }
  // What is too long is negative to Redis, whose conversion overflows.
  const double exact = std::ceil(*seconds * 1000);
  if (exact < 0 || exact >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
    fail("ERR timeout is negative");
  }
  const auto wanted = milliseconds(static_cast<std::int64_t>(exact));
  const auto now = steady_clock::now();
  const auto longest = std::chrono::duration_cast<milliseconds>(steady_clock::time_point::max() - now);
  return wanted.count() == 0 || wanted >= longest ? steady_clock::time_point::max() : now + wanted;
}

}  // namespace

void push(invocation& call, list_end end) {
  change<list_value> list(call.server.keys, call.arguments[1]);
  list_value& items = list.or_create();
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    end == list_end::left ? items.emplace_front(call.arguments[i]) : items.emplace_back(call.arguments[i]);
  }
  call.server.blocked.list_has_grown(call.arguments[1]);
  call.reply.integer(static_cast<std::int64_t>(items.size()));
}

void pop(invocation& call, list_end end) {
  change<list_value> list(call.server.keys, call.arguments[1]);
  if (!list) {
    call.reply.null();
  } else if (end == list_end::left) {
    call.reply.bulk(list->front());
    list->pop_front();
  } else {
    call.reply.bulk(list->back());
    list->pop_back();
  }
}

// Within a transaction it does not wait, but answers as if the time had passed.
void blpop(invocation& call) {
  const std::size_t keys = call.arguments.size() - 1;
  const auto deadline = deadline_argument(call, keys);
  for (std::size_t i = 1; i < keys; ++i) {
    if (read<list_value>(call, call.arguments[i]) != nullptr) {
      change<list_value> list(call.server.keys, call.arguments[i]);
      call.reply.bulks({call.arguments[i], list->front()});
      list->pop_front();
      return;
    }
  }
  if (call.from.in_exec) {
    call.reply.null_array();
    return;
  }
  auto waiting = std::make_unique<waiting_for_list>(waiting_for_list{deadline, {}});
  std::set<std::string_view> seen;
  for (std::size_t i = 1; i < keys; ++i) {
    if (seen.insert(call.arguments[i]).second) {
      waiting->keys.emplace_back(call.arguments[i]);
    }
  }
  call.from.waiting = std::move(waiting);
  call.server.blocked.add(call.from);
}

void lrange(invocation& call) {
  std::int64_t first = integer_argument(call, 2), last = integer_argument(call, 3);
  const auto* list = read<list_value>(call, call.arguments[1]);
  const auto size = static_cast<std::int64_t>(list == nullptr ? 0 : list->size());
  first = std::max<std::int64_t>(first < 0 ? first + size : first, 0);
  last = std::min(last < 0 ? last + size : last, size - 1);
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(last - first + 1, 0));
  count(call, wanted);
  call.reply.array(wanted);
  for (std::int64_t i = first; i <= last; ++i) {
    const stored_text& item = (*list)[static_cast<std::size_t>(i)];
    count(call, 0, item.size());
    call.reply.bulk(item);
  }
}

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
