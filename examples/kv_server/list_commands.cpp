// Commands on lists: LPUSH RPUSH LPOP RPOP LLEN LRANGE, and BLPOP BRPOP, which wait.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "arguments.hpp"
#include "computation.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

std::int64_t length(const list_value& list) {
  return static_cast<std::int64_t>(list.size());
}

// A large LRANGE: copies the items, and replies with them, some at a time. If the list changes before all are
// copied it begins again; the last attempt copies all that is left at once.
class list_copy final : public computation {
public:
  static constexpr std::size_t portion = 1024;

  list_copy(std::string_view key, std::int64_t first, std::int64_t last)
      : key_(key), first_(first), last_(last) {}

  step go_on(server_state& server, reply_writer& reply) override {
    if (!copied_) {
      if (!copy_some(server)) {
        return step::more;
      }
      copied_ = true;
      reply.array(copy_->size());
    }
    for (std::size_t left = portion; left != 0 && copy_->size() != 0; --left) {
      reply.bulk(copy_->pop(list_end::left));
    }
    return copy_->size() == 0 ? step::done : step::more;
  }
  void compute() override {}
  std::size_t size(server_state& server) const override {
    const any_value* found = server.keys.find(key_);
    return found == nullptr ? 0 : size_of(*found);
  }
  std::size_t memory() const override { return copy_->memory(); }

private:
  static constexpr int most_attempts = 3;

  // Returns whether all items are copied.
  bool copy_some(server_state& server) {
    const any_value* found = server.keys.find(key_);
    const auto* list = found == nullptr ? nullptr : get_as<list_value>(*found);
    if (found != nullptr && list == nullptr) {
      fail(wrong_type);
    }
    if (const std::uint64_t version = server.keys.version(key_); attempts_ == 0 || version != version_) {
      version_ = version;
      ++attempts_;
      server.keys.discard(std::exchange(copy_, std::make_unique<list_value>()));
    }
    const selection chosen = select_range(first_, last_, list == nullptr ? 0 : list->size());
    const std::size_t end =
        attempts_ > most_attempts ? chosen.count : std::min(chosen.count, copy_->size() + portion);
    while (copy_->size() < end) {
      copy_->push(list_end::right, (*list)[chosen.first + copy_->size()]);
    }
    return copy_->size() == chosen.count;
  }

  const std::string key_;
  const std::int64_t first_, last_;
  int attempts_ = 0;
  std::uint64_t version_ = 0;
  bool copied_ = false;
  std::unique_ptr<list_value> copy_ = std::make_unique<list_value>();
};

void push(invocation& call, list_end end) {
  const std::string_view key = call.arguments[1];
  {
    change<list_value> list(call, key);
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
  if (count > most_at_once) {
    list.unchanged();
    check_at_once(count);
  }
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

}  // namespace

void lpush(invocation& call) {
  push(call, list_end::left);
}

void rpush(invocation& call) {
  push(call, list_end::right);
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

void llen(invocation& call) {
  reply_size<list_value>(call);
}

void lrange(invocation& call) {
  const std::int64_t first = integer_argument(call, 2), last = integer_argument(call, 3);
  const auto* list = read<list_value>(call, call.arguments[1]);
  const selection chosen = select_range(first, last, list == nullptr ? 0 : list->size());
  if (chosen.count > list_copy::portion) {
    leave(call, std::make_unique<list_copy>(call.arguments[1], first, last));
    return;
  }
  call.reply.array(chosen.count);
  for (std::size_t i = 0; i < chosen.count; ++i) {
    call.reply.bulk((*list)[chosen.first + i]);
  }
}

}  // namespace kv::handlers
