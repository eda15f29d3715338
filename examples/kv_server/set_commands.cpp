// Commands on sets and on sorted sets.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "siphash.hpp"

namespace kv::handlers {

// The keys of the sets begin with the argument `first`; 2: the first argument is where the result is stored.
void combine(invocation& call, operation how, std::size_t first) {
  const set_value empty;  // stands for a key that does not exist
  std::vector<const set_value*> sets;
  for (std::size_t i = first; i < call.arguments.size(); ++i) {
    const auto* found = read<set_value>(call, call.arguments[i]);
    sets.push_back(found == nullptr ? &empty : found);
  }
  std::vector<const stored_text*> members;
  if (how == operation::united) {
    for (const set_value* each : sets) {
      for (const stored_text& member : *each) {
        count(call, 1, member.size());
        members.push_back(&member);
      }
    }
    if (sets.size() > 1) {
      std::sort(members.begin(), members.end(), [](auto* one, auto* other) { return *one < *other; });
      members.erase(
          std::unique(members.begin(), members.end(), [](auto* one, auto* other) { return *one == *other; }),
          members.end());
    }
  } else {
    const bool intersection = how == operation::intersection;
    if (intersection) {
      std::iter_swap(sets.begin(), std::min_element(sets.begin(), sets.end(), [](auto* one, auto* other) {
                       return one->size() < other->size();
                     }));
    }
    for (const stored_text& member : *sets[0]) {
      count(call, sets.size(), member.size());
      if (std::all_of(sets.begin() + 1, sets.end(),
                      [&](auto* other) { return (other->find(member) != other->end()) == intersection; })) {
        members.push_back(&member);
      }
    }
  }
  if (first == 1) {
    call.reply.array(members.size());
    for (const stored_text* each : members) {
      call.reply.bulk(*each);
    }
    return;
  }
  auto result = std::make_unique<set_value>();
  for (const stored_text* each : members) {
    result->insert(*each);
  }
  if (members.empty()) {
    call.server.keys.erase(call.arguments[1]);
  } else {
    check_room(call.server, 0);
    call.server.keys.erase(call.arguments[1]);
    call.server.keys.create(call.arguments[1], std::move(result));
  }
  call.reply.integer(static_cast<std::int64_t>(members.size()));
}

void sadd(invocation& call) {
  change<set_value> set(call.server.keys, call.arguments[1]);
  set_value& members = set.or_create();
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    added += members.insert(stored_text(call.arguments[i])).second ? 1 : 0;
  }
  if (added == 0) {
    set.unchanged();
  }
  call.reply.integer(added);
}

void srem(invocation& call) {
  change<set_value> set(call.server.keys, call.arguments[1]);
  std::int64_t removed = 0;
  for (std::size_t i = 2; set && i < call.arguments.size(); ++i) {
    removed += set->erase(stored_text(call.arguments[i])) ? 1 : 0;
  }
  if (removed == 0) {
    set.unchanged();
  }
  call.reply.integer(removed);
}

void spop(invocation& call) {
  change<set_value> set(call.server.keys, call.arguments[1]);
  if (!set) {
    call.reply.null();
    return;
  }
  const stored_text chosen = *set->find_by_order(random_below(set->size()));
  call.reply.bulk(chosen);
  set->erase(chosen);
}

void smove(invocation& call) {
  const std::string_view from = call.arguments[1], to = call.arguments[2];
  const stored_text member(call.arguments[3]);
  const auto* source = read<set_value>(call, from);
  if (source == nullptr) {
    call.reply.integer(0);
    return;
  }
  const bool is_new = read<set_value>(call, to) == nullptr;
  const bool there = source->find(member) != source->end();
  if (there && from != to) {
    if (is_new) {
      check_room(call.server, 1024 + to.size());  // of a key; the member is only moved
    }
    {
      change<set_value> target(call.server.keys, to);
      if (!target.or_create().insert(member).second) {
        target.unchanged();  // as in Redis, a client that watches that key sees no change
      }
    }
    change<set_value>(call.server.keys, from)->erase(member);
  }
  call.reply.integer(there ? 1 : 0);
}

// ZADD key score member [score member ...], without options.
void zadd(invocation& call) {
  if (call.arguments.size() % 2 != 0) {
    fail(syntax_error);
  }
  std::vector<double> scores;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    const auto score = parse_double(call.arguments[i]);
    if (!score) {
      fail("ERR value is not a valid float");
    }
    scores.push_back(*score + 0.0);  // turns -0 into 0
  }
  change<sorted_set_value> set(call.server.keys, call.arguments[1]);
  sorted_set_value& members = set.or_create();
  const std::size_t before = members.size();
  bool changed = false;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    changed = members.set(call.arguments[2 * i + 3], scores[i]) || changed;
  }
  if (!changed) {
    set.unchanged();
  }
  call.reply.integer(static_cast<std::int64_t>(members.size() - before));
}

void zpopmin(invocation& call) {
  change<sorted_set_value> set(call.server.keys, call.arguments[1]);
  if (!set) {
    call.reply.array(0);
    return;
  }
  const double score = set->begin()->first;
  char text[40];                                     // of 17 digits
  std::snprintf(text, sizeof text, "%.17g", score);  // "inf" and "-inf", too
  call.reply.bulks({set->begin()->second, text});
  set->drop_first();
}

}  // namespace kv::handlers
