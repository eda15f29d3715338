// SORT: copies the elements. The session sorts the copy while other clients' commands are executed.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "commands.hpp"

namespace kv {

namespace handlers {

namespace {

struct sort_options {
  sort_order order;
  std::int64_t skip = 0, most = -1;  // a negative `most`: all
};

sort_options parse_options(const invocation& call) {
  sort_options found;
  const auto& words = call.arguments;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t behind = words.size() - i - 1;
    if (equals_ignoring_case(words[i], "asc")) {
      found.order.descending = false;
    } else if (equals_ignoring_case(words[i], "desc")) {
      found.order.descending = true;
    } else if (equals_ignoring_case(words[i], "alpha")) {
      found.order.by_text = true;
    } else if (equals_ignoring_case(words[i], "limit") && behind >= 2) {
      found.skip = integer_argument(call, i + 1);
      found.most = integer_argument(call, i + 2);
      i += 2;
    } else {
      fail(syntax_error);
    }
  }
  return found;
}

// Calls use(text) with each element of a list, a set or a sorted set.
template <class Use>
void for_each_element(const any_value& from, Use use) {
  if (const auto* list = get_as<list_value>(from)) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      use((*list)[i]);
    }
  } else if (const auto* set = get_as<set_value>(from)) {
    for (const stored_text& member : *set) {
      use(member);
    }
  } else if (const auto* sorted = get_as<sorted_set_value>(from)) {
    for (const auto& [score, member] : *sorted) {
      use(member);
    }
  } else {
    fail(wrong_type);
  }
}

}  // namespace

// In a transaction it computes at once. Elsewhere it only copies here, so 64 elements count as one.
void sort(invocation& call) {
  const sort_options options = parse_options(call);
  client& from = call.from;
  const any_value* value = call.server.keys.find(call.arguments[1]);
  const std::size_t size = value == nullptr ? 0 : size_of(*value);
  count(call, from.in_exec ? size : size / 64);
  // Items, spare items, and texts, each with a zero byte behind it. The memory is touched as it is needed.
  std::size_t bytes = size * (2 * sizeof(sortable) + 1);
  if (value != nullptr) {
    for_each_element(*value, [&](const stored_text& each) { bytes += each.size(); });
  }
  auto memory = std::make_unique_for_overwrite<char[]>(bytes);
  auto* const items = reinterpret_cast<sortable*>(memory.get());
  auto* next = items;
  auto* text_at = reinterpret_cast<char*>(items + 2 * size);
  if (value != nullptr) {
    for_each_element(*value, [&](const stored_text& each) {
      count(call, 0, each.size());
      std::memcpy(text_at, each.c_str(), each.size() + 1);
      *next++ = {{text_at, each.size()}, 0};
      text_at += each.size() + 1;
    });
  }
  from.sorting.reset(new sorting{
      std::move(memory), bytes, {items, items + size, size, options.order}, options.skip, options.most});
  from.state_memory += bytes;
  if (from.in_exec) {
    from.sorting->job.run_at_once();
    reply_sorted(call);
  }
}

}  // namespace handlers

void reply_sorted(invocation& call) {
  const auto done = std::move(call.from.sorting);
  call.from.state_memory -= done->bytes;
  if (done->job.result() == sort_job::outcome::not_numbers) {
    call.reply.error("ERR One or more scores can't be converted into double");
    return;
  }
  const auto size = static_cast<std::int64_t>(done->job.size());
  const std::int64_t first = std::clamp<std::int64_t>(done->skip, 0, size);
  const std::int64_t end = first + (done->most < 0 ? size - first : std::min(size - first, done->most));
  call.reply.array(static_cast<std::size_t>(end - first));
  for (std::int64_t i = first; i != end; ++i) {
    call.reply.bulk(done->job.sorted()[i].text);
  }
}

}  // namespace kv
