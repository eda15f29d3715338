// Commands on sets: SADD SREM SPOP SMEMBERS, and those on several, SINTER SUNION SDIFF.
#include <algorithm>
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
  members.assign(set.begin(), set.end());
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

bool in_all(const sets& all, const std::string& member) {
  return std::all_of(all.begin(), all.end(), [&](const set_value* each) { return each->contains(member); });
}

bool in_others(const sets& all, const std::string& member) {
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
    for (const std::string& member : each) {
      if (how == operation::united ||
          (how == operation::intersection ? in_all(from, member) : !in_others(from, member))) {
        result.add(member);
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
  change<set_value> set(call, call.arguments[1]);
  std::int64_t erased = 0;
  for (std::size_t i = 2; set && i < call.arguments.size(); ++i) {
    erased += set->erase(std::string(call.arguments[i])) ? 1 : 0;
  }
  if (erased == 0) {
    set.unchanged();
  }
  call.reply.integer(erased);
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
    const std::string chosen = *set->at(count == set->size() ? 0 : random_below(set->size()));
    call.reply.bulk(chosen);
    set->erase(chosen);
  }
}

void smove(invocation& call) {
  const std::string_view from = call.arguments[1], to = call.arguments[2];
  const std::string member(call.arguments[3]);
  const auto* source = read<set_value>(call, from);
  if (source == nullptr) {
    call.reply.integer(0);
    return;
  }
  read<set_value>(call, to);  // its type
  const bool there = source->contains(member);
  if (there && from != to) {
    {
      change<set_value> target(call, to);
      if (!target.or_create().add(member)) {
        target.unchanged();  // as in Redis, who watches that key sees no change
      }
    }
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
  call.reply.integer(set != nullptr && set->contains(std::string(call.arguments[2])) ? 1 : 0);
}

void scard(invocation& call) {
  reply_size<set_value>(call);
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
