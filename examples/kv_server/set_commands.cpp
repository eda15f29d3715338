// Commands on sets.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "randomness.hpp"

namespace kv::handlers {

// The keys of the sets begin with the argument `first`; 2: the first argument is where the result is stored.
portions combine(invocation& call, operation how, std::size_t first) {
  static const set_value empty;  // stands for a key that does not exist
  budget now;
  std::vector<const set_value*> sets;
  std::size_t smallest = 0, total = 0;
  for (std::size_t i = first; i < call.arguments.size(); ++i) {
    const auto* found = read<set_value>(call, call.arguments[i]);
    sets.push_back(found == nullptr ? &empty : found);
    total += sets.back()->size();
    smallest = sets.back()->size() < sets[smallest]->size() ? sets.size() - 1 : smallest;
    if (now.spent()) {
      co_yield step::more;
    }
  }
  // A member of the union counts where it comes first, one of the intersection in the smallest set.
  const bool united = how == operation::united, intersection = how == operation::intersection;
  std::vector<const std::string*> members;
  members.reserve(united ? total : sets[intersection ? smallest : 0]->size());
  call.from.working_memory = (members.capacity() + sets.capacity()) * sizeof(void*);
  for (std::size_t i = intersection ? smallest : 0; i < sets.size(); ++i) {
    for (const std::string& member : *sets[i]) {
      bool belongs = true;
      for (std::size_t at = united || intersection ? 0 : 1; belongs && at != (united ? i : sets.size());
           ++at) {
        belongs = sets[at]->contains(member) == intersection;
        if (now.spent()) {
          co_yield step::more;
        }
      }
      if (belongs) {
        members.push_back(&member);
      }
      if (now.spent()) {
        co_yield step::more;
      }
    }
    if (!united) {
      break;
    }
  }
  if (first == 1) {
    call.reply.array(members.size());
    for (const std::string* each : members) {
      call.reply.bulk(*each);
      if (now.spent(each->size())) {
        co_yield step::more;
      }
    }
    co_return;
  }
  scratch<set_value> result(call);
  for (const std::string* each : members) {
    result->add(*each);
    call.from.working_memory = members.capacity() * sizeof(void*) + result->memory();
    if (now.spent(each->size())) {
      co_yield step::more;
    }
  }
  if (members.empty()) {
    call.server.keys.erase(call.arguments[1]);
  } else {
    check_room(call.server, result->memory());
    call.server.keys.put(call.arguments[1], result.take());
  }
  call.reply.integer(static_cast<std::int64_t>(members.size()));
}

namespace {

// Adds or removes the arguments; replies how many changed the set.
portions change_members(invocation& call, bool create, bool (*change_one)(set_value&, std::string_view)) {
  std::int64_t changed = 0;
  for (std::size_t i = 2; i < call.arguments.size();) {
    if (i != 2) {
      co_yield step::more;
    }
    change<set_value> set(call, call.arguments[1]);
    if (!set && !create) {
      break;
    }
    const std::int64_t before = changed;
    for (budget now; i < call.arguments.size() && now.takes(call.arguments[i].size()); ++i) {
      changed += change_one(set.or_create(), call.arguments[i]) ? 1 : 0;
    }
    if (changed == before) {
      set.unchanged();
    }
  }
  call.reply.integer(changed);
}

}  // namespace

portions sadd(invocation& call) {
  return change_members(call, true, [](set_value& set, std::string_view each) { return set.add(each); });
}

portions srem(invocation& call) {
  return change_members(call, false,
                        [](set_value& set, std::string_view each) { return set.erase(std::string(each)); });
}

void spop(invocation& call) {
  change<set_value> set(call, call.arguments[1]);
  if (!set) {
    call.reply.null();
    return;
  }
  const std::string chosen = *set->at(random_below(set->size()));
  call.reply.bulk(chosen);
  set->erase(chosen);
}

void smove(invocation& call) {
  const std::string_view from = call.arguments[1], to = call.arguments[2];
  const std::string member(call.arguments[3]);
  const auto* source = read<set_value>(call, from);
  if (source == nullptr) {
    call.reply.integer(0);
    return;
  }
  const bool is_new = read<set_value>(call, to) == nullptr;
  const bool there = source->contains(member);
  if (there && from != to) {
    if (is_new) {
      check_room(call.server, 256 + to.size());  // of a key; the member is only moved
    }
    {
      change<set_value> target(call, to);
      if (!target.or_create().add(member)) {
        target.unchanged();  // as in Redis, a client that watches that key sees no change
      }
    }
    change<set_value>(call, from)->erase(member);
  }
  call.reply.integer(there ? 1 : 0);
}

}  // namespace kv::handlers
