// Commands on sets: SADD SREM SPOP SMEMBERS, and those on several, SINTER SUNION SDIFF.
#include <algorithm>
#include <limits>
#include <vector>

#include "arguments.hpp"
#include "handlers.hpp"
#include "integer.hpp"
#include "randomness.hpp"

namespace kv::handlers {

namespace {

// Sets of integers are shown in ascending order.
void reply_members(invocation& call, const set_value& set) {
  std::vector<std::string_view> members;
  members.reserve(set.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    members.push_back(set[i]);
  }
  if (set.is_integers()) {
    std::sort(members.begin(), members.end(), [](std::string_view left, std::string_view right) {
      return *parse_integer(left) < *parse_integer(right);
    });
  }
  call.reply.array(members.size());
  for (const std::string_view each : members) {
    call.reply.bulk(each);
  }
}

enum class operation { intersection, united, difference };

using sets = std::vector<const set_value*>;

// Empty sets stand for keys that are not there.
sets read_sets(invocation& call, std::size_t from) {
  static const set_value empty;
  sets found;
  for (std::size_t i = from; i < call.arguments.size(); ++i) {
    const auto* set = read<set_value>(call, call.arguments[i]);
    found.push_back(set == nullptr ? &empty : set);
  }
  return found;
}

bool in_all(const sets& all, std::string_view member) {
  return std::all_of(all.begin(), all.end(), [&](const set_value* each) { return each->contains(member); });
}

bool in_others(const sets& all, std::string_view member) {
  return std::any_of(all.begin() + 1, all.end(),
                     [&](const set_value* each) { return each->contains(member); });
}

set_value combine(const sets& from, operation how) {
  set_value result;
  const auto smaller = [](const set_value* one, const set_value* other) {
    return one->size() < other->size();
  };
  const std::size_t sources = how == operation::united ? from.size() : 1;
  for (std::size_t source = 0; source < sources; ++source) {
    const set_value& each = how == operation::intersection
                                ? **std::min_element(from.begin(), from.end(), smaller)
                                : *from[source];
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (how == operation::united ||
          (how == operation::intersection ? in_all(from, each[i]) : !in_others(from, each[i]))) {
        result.add(each[i]);
      }
    }
  }
  return result;
}

void reply_combined(invocation& call, operation how) {
  reply_members(call, combine(read_sets(call, 1), how));
}

void store_combined(invocation& call, operation how) {
  set_value result = combine(read_sets(call, 2), how);
  const auto size = static_cast<std::int64_t>(result.size());
  call.server.keys.erase(call.arguments[1]);
  if (size != 0) {
    change<set_value>(call, call.arguments[1]).or_create() = std::move(result);
  }
  call.reply.integer(size);
}

}  // namespace

void sadd(invocation& call) {
  change<set_value> set(call, call.arguments[1]);
  set_value& members = set.or_create();
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    added += members.add(call.arguments[i]) ? 1 : 0;
  }
  if (added == 0) {
    set.unchanged();
  }
  call.reply.integer(added);
}

void srem(invocation& call) {
  erase_members<set_value>(call);
}

void spop(invocation& call) {
  const bool counted = call.arguments.size() > 2;
  if (call.arguments.size() > 3) {
    fail(syntax_error);
  }
  const std::size_t wanted = counted ? count_argument(call, 2) : 1;
  change<set_value> set(call, call.arguments[1]);
  if (!set && !counted) {
    call.reply.null();
    return;
  }
  const std::size_t count = set ? std::min(wanted, set->size()) : 0;
  if (counted) {
    call.reply.array(count);
  }
  if (count == 0) {
    set.unchanged();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t chosen = count == set->size() ? 0 : random_below(set->size());
    call.reply.bulk((*set)[chosen]);
    set->erase_at(chosen);
  }
}

// With a negative count the same member may come more than once.
void srandmember(invocation& call) {
  if (call.arguments.size() > 3) {
    fail(syntax_error);
  }
  const bool counted = call.arguments.size() == 3;
  const std::int64_t count = counted ? integer_argument(call, 2) : 1;
  if (count == std::numeric_limits<std::int64_t>::min()) {
    fail("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
  }
  const auto* set = read<set_value>(call, call.arguments[1]);
  if (set == nullptr || !counted) {
    if (counted) {
      call.reply.array(0);
    } else if (set == nullptr) {
      call.reply.null();
    } else {
      call.reply.bulk((*set)[random_below(set->size())]);
    }
    return;
  }
  if (count < 0) {
    call.reply.array(static_cast<std::size_t>(-count));
    for (std::int64_t i = count; i < 0 && !call.reply.overflowed(); ++i) {
      call.reply.bulk((*set)[random_below(set->size())]);
    }
    return;
  }
  std::vector<std::size_t> order(set->size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const std::size_t chosen = std::min(static_cast<std::size_t>(count), order.size());
  call.reply.array(chosen);
  for (std::size_t i = 0; i < chosen; ++i) {
    std::swap(order[i], order[i + random_below(order.size() - i)]);
    call.reply.bulk((*set)[order[i]]);
  }
}

void smove(invocation& call) {
  const std::string_view from = call.arguments[1], to = call.arguments[2], member = call.arguments[3];
  const auto* source = read<set_value>(call, from);
  if (source == nullptr) {
    call.reply.integer(0);
    return;
  }
  read<set_value>(call, to);  // its type
  const bool there = source->contains(member);
  if (there && from != to) {
    change<set_value>(call, to).or_create().add(member);
    change<set_value>(call, from)->erase(member);
  }
  call.reply.integer(there ? 1 : 0);
}

void smembers(invocation& call) {
  if (const auto* set = read<set_value>(call, call.arguments[1])) {
    reply_members(call, *set);
  } else {
    call.reply.array(0);
  }
}

void sismember(invocation& call) {
  const auto* set = read<set_value>(call, call.arguments[1]);
  call.reply.integer(set != nullptr && set->contains(call.arguments[2]) ? 1 : 0);
}

void smismember(invocation& call) {
  const auto* set = read<set_value>(call, call.arguments[1]);
  call.reply.array(call.arguments.size() - 2);
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    call.reply.integer(set != nullptr && set->contains(call.arguments[i]) ? 1 : 0);
  }
}

void scard(invocation& call) {
  const auto* set = read<set_value>(call, call.arguments[1]);
  call.reply.integer(set == nullptr ? 0 : static_cast<std::int64_t>(set->size()));
}

void sinter(invocation& call) {
  reply_combined(call, operation::intersection);
}

void sunion(invocation& call) {
  reply_combined(call, operation::united);
}

void sdiff(invocation& call) {
  reply_combined(call, operation::difference);
}

void sinterstore(invocation& call) {
  store_combined(call, operation::intersection);
}

void sunionstore(invocation& call) {
  store_combined(call, operation::united);
}

void sdiffstore(invocation& call) {
  store_combined(call, operation::difference);
}

}  // namespace kv::handlers
