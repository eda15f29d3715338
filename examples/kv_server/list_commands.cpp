// Commands on lists.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "commands.hpp"

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
  auto waiting = std::make_unique<waiting_for_list>(waiting_for_list{deadline, {}, 0});
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

}  // namespace kv::handlers
