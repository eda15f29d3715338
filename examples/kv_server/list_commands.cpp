// Commands on lists: LPUSH RPUSH LPOP RPOP LRANGE and their kin, and those that wait, BLPOP BRPOP.
#include <algorithm>
#include <limits>
#include <set>

#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

std::int64_t length(const list_value& list) {
  return static_cast<std::int64_t>(list.size());
}

// Where a client's index points; npos: outside.
std::size_t position_in(const list_value& list, std::int64_t index) {
  const std::int64_t position = index < 0 ? index + length(list) : index;
  return position < 0 || position >= length(list) ? std::string::npos : static_cast<std::size_t>(position);
}

void push(invocation& call, list_end end, bool must_exist) {
  const std::string_view key = call.arguments[1];
  {
    change<list_value> list(call, key);
    if (!list && must_exist) {
      call.reply.integer(0);
      return;
    }
    list_value& items = list.or_create();
    for (std::size_t i = 2; i < call.arguments.size(); ++i) {
      items.push(end, call.arguments[i]);
    }
    call.reply.integer(length(items));
  }
  call.server.blocked.list_has_grown(key);
}

void pop(invocation& call, list_end end, std::string_view command) {
  if (call.arguments.size() > 3) {
    fail_arity(command);
  }
  const bool counted = call.arguments.size() == 3;
  const std::size_t wanted = counted ? count_argument(call, 2) : 1;
  change<list_value> list(call, call.arguments[1]);
  if (!list) {
    counted ? call.reply.null_array() : call.reply.null();
    return;
  }
  const std::size_t count = std::min(wanted, list->size());
  if (counted) {
    call.reply.array(count);
  }
  if (count == 0) {
    list.unchanged();
  }
  for (std::size_t i = 0; i < count; ++i) {
    call.reply.bulk(list->pop(end));
  }
}

// The first of the lists that has an item; npos: none has.
std::size_t first_with_items(invocation& call) {
  for (std::size_t i = 1; i + 1 < call.arguments.size(); ++i) {
    if (read<list_value>(call, call.arguments[i]) != nullptr) {
      return i;
    }
  }
  return std::string::npos;
}

void wait_for_lists(invocation& call, list_end end, std::chrono::steady_clock::time_point deadline) {
  auto waiting = std::make_unique<waiting_for_list>(waiting_for_list{end, deadline, {}});
  std::set<std::string_view> seen;
  for (std::size_t i = 1; i + 1 < call.arguments.size(); ++i) {
    if (seen.insert(call.arguments[i]).second) {
      waiting->keys.emplace_back(call.arguments[i]);
    }
  }
  call.from.waiting = std::move(waiting);
  call.server.blocked.add(call.from);
}

// Within a transaction nobody waits: it is as if the time were over at once.
void pop_or_wait(invocation& call, list_end end) {
  const auto deadline = deadline_argument(call, call.arguments.size() - 1);
  const std::size_t found = first_with_items(call);
  if (found != std::string::npos) {
    change<list_value> list(call, call.arguments[found]);
    call.reply.array(2);
    call.reply.bulk(call.arguments[found]);
    call.reply.bulk(list->pop(end));
  } else if (call.from.in_exec) {
    call.reply.null_array();
  } else {
    wait_for_lists(call, end, deadline);
  }
}

std::optional<list_end> parse_end(std::string_view word) {
  if (equals_ignoring_case(word, "left")) {
    return list_end::left;
  }
  return equals_ignoring_case(word, "right") ? std::optional(list_end::right) : std::nullopt;
}

// From one end of a list to an end of another, which may be the same.
void move_item(invocation& call, list_end from, list_end to) {
  if (read<list_value>(call, call.arguments[1]) == nullptr) {
    call.reply.null();
    return;
  }
  read<list_value>(call, call.arguments[2]);  // its type
  std::string text;
  {
    change<list_value> source(call, call.arguments[1]);
    text = source->pop(from);
    if (call.arguments[1] == call.arguments[2]) {  // its only item may have been taken: it must not go
      source->push(to, text);
    }
  }
  if (call.arguments[1] != call.arguments[2]) {
    change<list_value>(call, call.arguments[2]).or_create().push(to, text);
  }
  call.reply.bulk(text);
  call.server.blocked.list_has_grown(call.arguments[2]);
}

}  // namespace

void lpush(invocation& call) {
  push(call, list_end::left, false);
}

void rpush(invocation& call) {
  push(call, list_end::right, false);
}

void lpushx(invocation& call) {
  push(call, list_end::left, true);
}

void rpushx(invocation& call) {
  push(call, list_end::right, true);
}

void lpop(invocation& call) {
  pop(call, list_end::left, "lpop");
}

void rpop(invocation& call) {
  pop(call, list_end::right, "rpop");
}

void blpop(invocation& call) {
  pop_or_wait(call, list_end::left);
}

void brpop(invocation& call) {
  pop_or_wait(call, list_end::right);
}

void lmove(invocation& call) {
  const auto from = parse_end(call.arguments[3]), to = parse_end(call.arguments[4]);
  if (!from || !to) {
    fail(syntax_error);
  }
  move_item(call, *from, *to);
}

void rpoplpush(invocation& call) {
  move_item(call, list_end::right, list_end::left);
}

void llen(invocation& call) {
  const auto* list = read<list_value>(call, call.arguments[1]);
  call.reply.integer(list == nullptr ? 0 : length(*list));
}

void lrange(invocation& call) {
  const std::int64_t first = integer_argument(call, 2), last = integer_argument(call, 3);
  const auto* list = read<list_value>(call, call.arguments[1]);
  const selection chosen = select_range(first, last, list == nullptr ? 0 : list->size());
  call.reply.array(chosen.count);
  for (std::size_t i = 0; i < chosen.count; ++i) {
    call.reply.bulk((*list)[chosen.first + i]);
  }
}

void lindex(invocation& call) {
  const auto* list = read<list_value>(call, call.arguments[1]);
  if (list == nullptr) {
    call.reply.null();
    return;
  }
  const std::size_t position = position_in(*list, integer_argument(call, 2));
  if (position == std::string::npos) {
    call.reply.null();
  } else {
    call.reply.bulk((*list)[position]);
  }
}

void lset(invocation& call) {
  const auto* found = read<list_value>(call, call.arguments[1]);
  if (found == nullptr) {
    fail("ERR no such key");
  }
  const std::size_t position = position_in(*found, integer_argument(call, 2));
  if (position == std::string::npos) {
    fail("ERR index out of range");
  }
  change<list_value>(call, call.arguments[1])->assign(position, call.arguments[3]);
  call.reply.ok();
}

void linsert(invocation& call) {
  const bool before = equals_ignoring_case(call.arguments[2], "before");
  if (!before && !equals_ignoring_case(call.arguments[2], "after")) {
    fail(syntax_error);
  }
  change<list_value> list(call, call.arguments[1]);
  std::size_t position = 0;
  while (list && position < list->size() && (*list)[position] != call.arguments[3]) {
    ++position;
  }
  if (!list || position == list->size()) {
    list.unchanged();
    call.reply.integer(list ? -1 : 0);
    return;
  }
  list->insert(before ? position : position + 1, call.arguments[4]);
  call.reply.integer(length(*list));
}

// A negative count begins at the right; 0 means all.
void lrem(invocation& call) {
  const std::int64_t count = integer_argument(call, 2);
  change<list_value> list(call, call.arguments[1]);
  std::size_t erased = 0;
  if (list) {
    const auto wanted = static_cast<std::uint64_t>(count);
    const std::size_t most = count == 0 ? list->size() : count < 0 ? 0 - wanted : wanted;
    erased = list->erase_equal(call.arguments[3], most, count < 0 ? list_end::right : list_end::left);
  }
  if (erased == 0) {
    list.unchanged();
  }
  call.reply.integer(static_cast<std::int64_t>(erased));
}

void ltrim(invocation& call) {
  const std::int64_t first = integer_argument(call, 2), last = integer_argument(call, 3);
  change<list_value> list(call, call.arguments[1]);
  if (list) {
    const selection chosen = select_range(first, last, list->size());
    list->keep(chosen.first, chosen.count);
  }
  call.reply.ok();
}

}  // namespace kv::handlers
