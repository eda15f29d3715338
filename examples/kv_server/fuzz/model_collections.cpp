// The model of the commands on lists and sets.
#include <algorithm>

#include "model_base.hpp"

namespace kv::fuzz {

namespace {

std::string take(list_model& list, bool left) {
  std::string item = left ? list.front() : list.back();
  left ? list.pop_front() : list.pop_back();
  return item;
}

void put(list_model& list, bool left, const std::string& item) {
  left ? list.push_front(item) : list.push_back(item);
}

reply push(model_call& c, bool left, bool must_exist) {
  if (c.find<list_model>(c.a[1]) == nullptr && must_exist) {
    return integer(0);
  }
  auto& list = c.make<list_model>(c.a[1]);
  for (std::size_t i = 2; i < c.size(); ++i) {
    put(list, left, c.a[i]);
  }
  return integer(count_of(list.size()));
}

reply pop(model_call& c, bool left) {
  if (c.size() > 3 || (c.size() == 3 && c.number(2) < 0)) {
    throw model_error{"ERR"};
  }
  auto* list = c.find<list_model>(c.a[1]);
  if (list == nullptr) {
    return c.size() == 3 ? null_array() : null_bulk();
  }
  reply popped = array();
  for (std::int64_t wanted = c.size() == 3 ? c.number(2) : 1; wanted > 0 && !list->empty(); --wanted) {
    popped.elements.push_back(bulk(take(*list, left)));
  }
  c.tidy<list_model>(c.a[1]);
  return c.size() == 3 ? popped : popped.elements[0];
}

// A list moved into itself is never empty in between: its time to live stays.
reply move(model_call& c, bool from_left, bool to_left) {
  auto* from = c.find<list_model>(c.a[1]);
  if (from == nullptr) {
    return null_bulk();
  }
  c.find<list_model>(c.a[2]);
  const std::string item = take(*from, from_left);
  put(c.make<list_model>(c.a[2]), to_left, item);
  c.tidy<list_model>(c.a[1]);
  return bulk(item);
}

bool names_end(const std::string& word) {
  return word == "LEFT" || word == "RIGHT";
}

reply lmove(model_call& c) {
  const std::string from = c.option(3), to = c.option(4);
  if (!names_end(from) || !names_end(to)) {
    throw model_error{"ERR"};
  }
  return move(c, from == "LEFT", to == "LEFT");
}

reply lrange(model_call& c) {
  const std::int64_t first = c.number(2), last = c.number(3);
  const auto* list = c.find<list_model>(c.a[1]);
  reply all = array();
  const span_of part = span_between(first, last, list == nullptr ? 0 : list->size());
  for (std::size_t i = 0; i < part.count; ++i) {
    all.elements.push_back(bulk((*list)[part.first + i]));
  }
  return all;
}

// nullptr: there is no such item.
std::string* item_at(list_model& list, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(list.size());
  if (index >= size || index < -size) {
    return nullptr;
  }
  return &list[static_cast<std::size_t>(index < 0 ? index + size : index)];
}

reply lindex(model_call& c) {
  auto* list = c.find<list_model>(c.a[1]);
  const std::string* item = list == nullptr ? nullptr : item_at(*list, c.number(2));
  return item == nullptr ? null_bulk() : bulk(*item);
}

reply lset(model_call& c) {
  auto* list = c.find<list_model>(c.a[1]);
  std::string* item = list == nullptr ? nullptr : item_at(*list, c.number(2));
  if (item == nullptr) {
    throw model_error{"ERR"};
  }
  *item = c.a[3];
  return simple("OK");
}

reply linsert(model_call& c) {
  const std::string side = c.option(2);
  if (side != "BEFORE" && side != "AFTER") {
    throw model_error{"ERR"};
  }
  auto* list = c.find<list_model>(c.a[1]);
  if (list == nullptr) {
    return integer(0);
  }
  const auto pivot = std::find(list->begin(), list->end(), c.a[3]);
  if (pivot == list->end()) {
    return integer(-1);
  }
  list->insert(pivot + (side == "AFTER" ? 1 : 0), c.a[4]);
  return integer(count_of(list->size()));
}

reply lrem(model_call& c) {
  const __int128 count = c.number(2);
  auto* list = c.find<list_model>(c.a[1]);
  if (list == nullptr) {
    return integer(0);
  }
  if (count < 0) {
    std::reverse(list->begin(), list->end());
  }
  list_model kept;
  long long removed = 0;
  for (const std::string& each : *list) {
    if (each == c.a[3] && (count == 0 || removed < (count < 0 ? -count : count))) {
      ++removed;
    } else {
      kept.push_back(each);
    }
  }
  if (count < 0) {
    std::reverse(kept.begin(), kept.end());
  }
  *list = kept;
  c.tidy<list_model>(c.a[1]);
  return integer(removed);
}

reply ltrim(model_call& c) {
  const std::int64_t first = c.number(2), last = c.number(3);
  if (auto* list = c.find<list_model>(c.a[1])) {
    const span_of part = span_between(first, last, list->size());
    const auto begin = list->begin() + static_cast<std::ptrdiff_t>(part.first);
    *list = list_model(begin, begin + static_cast<std::ptrdiff_t>(part.count));
    c.tidy<list_model>(c.a[1]);
  }
  return simple("OK");
}

set_model members(model_call& c, const std::string& key) {
  const auto* set = c.find<set_model>(key);
  return set == nullptr ? set_model{} : *set;
}

reply all_of(model_call& c, const set_model& set) {
  c.any_order = true;
  reply all = array();
  for (const std::string& each : set) {
    all.elements.push_back(bulk(each));
  }
  return all;
}

reply sadd(model_call& c) {
  auto& set = c.make<set_model>(c.a[1]);
  const std::size_t before = set.size();
  set.insert(c.a.begin() + 2, c.a.end());
  return integer(count_of(set.size() - before));
}

reply srem(model_call& c) {
  auto* set = c.find<set_model>(c.a[1]);
  long long removed = 0;
  for (std::size_t i = 2; set != nullptr && i < c.size(); ++i) {
    removed += count_of(set->erase(c.a[i]));
  }
  c.tidy<set_model>(c.a[1]);
  return integer(removed);
}

reply smismember(model_call& c) {
  const set_model set = members(c, c.a[1]);
  reply all = array();
  for (std::size_t i = 2; i < c.size(); ++i) {
    all.elements.push_back(integer(set.contains(c.a[i]) ? 1 : 0));
  }
  return all;
}

reply smove(model_call& c) {
  auto* from = c.find<set_model>(c.a[1]);
  if (from == nullptr) {
    return integer(0);
  }
  c.find<set_model>(c.a[2]);
  if (from->erase(c.a[3]) == 0) {
    return integer(0);
  }
  c.make<set_model>(c.a[2]).insert(c.a[3]);
  c.tidy<set_model>(c.a[1]);
  return integer(1);
}

enum class how { intersect, unite, subtract };

set_model combine(model_call& c, how kind, std::size_t first) {
  std::vector<set_model> sets;
  for (std::size_t i = first; i < c.size(); ++i) {
    sets.push_back(members(c, c.a[i]));
  }
  set_model result = sets[0];
  for (std::size_t i = 1; i < sets.size(); ++i) {
    if (kind == how::unite) {
      result.merge(sets[i]);
    } else {
      std::erase_if(
          result, [&](const std::string& each) { return sets[i].contains(each) == (kind == how::subtract); });
    }
  }
  return result;
}

template <how kind>
reply combined(model_call& c) {
  return all_of(c, combine(c, kind, 1));
}

template <how kind>
reply combined_store(model_call& c) {
  const set_model result = combine(c, kind, 2);
  c.keys.erase(c.a[1]);
  if (!result.empty()) {
    c.make<set_model>(c.a[1]) = result;
  }
  return integer(count_of(result.size()));
}

}  // namespace

handlers list_models() {
  return {
      {"lpush", [](model_call& c) { return push(c, true, false); }},
      {"rpush", [](model_call& c) { return push(c, false, false); }},
      {"lpushx", [](model_call& c) { return push(c, true, true); }},
      {"rpushx", [](model_call& c) { return push(c, false, true); }},
      {"lpop", [](model_call& c) { return pop(c, true); }},
      {"rpop", [](model_call& c) { return pop(c, false); }},
      {"lmove", lmove},
      {"rpoplpush", [](model_call& c) { return move(c, false, true); }},
      {"llen", size_of<list_model>},
      {"lrange", lrange},
      {"lindex", lindex},
      {"lset", lset},
      {"linsert", linsert},
      {"lrem", lrem},
      {"ltrim", ltrim},
  };
}

handlers set_models() {
  return {
      {"sadd", sadd},
      {"srem", srem},
      {"scard", size_of<set_model>},
      {"smembers", [](model_call& c) { return all_of(c, members(c, c.a[1])); }},
      {"sismember", [](model_call& c) { return integer(members(c, c.a[1]).contains(c.a[2]) ? 1 : 0); }},
      {"smismember", smismember},
      {"smove", smove},
      {"sinter", combined<how::intersect>},
      {"sunion", combined<how::unite>},
      {"sdiff", combined<how::subtract>},
      {"sinterstore", combined_store<how::intersect>},
      {"sunionstore", combined_store<how::unite>},
      {"sdiffstore", combined_store<how::subtract>},
  };
}

}  // namespace kv::fuzz
