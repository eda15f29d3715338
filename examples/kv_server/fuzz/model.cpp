// The model of the commands on strings and on keys whatever their values.
#include "model.hpp"

#include <limits>

#include "model_base.hpp"

namespace kv::fuzz {

namespace {

reply text_or_null(const std::string* text) {
  return text == nullptr ? null_bulk() : bulk(*text);
}

reply get(model_call& c) {
  return text_or_null(c.find<std::string>(c.a[1]));
}

reply set(model_call& c) {
  bool nx = false, xx = false, get_old = false, keep = false;
  for (std::size_t i = 3; i < c.size(); ++i) {
    const std::string word = c.option(i);
    (word == "NX" ? nx : word == "XX" ? xx : word == "GET" ? get_old : keep) = true;
  }
  if (nx && xx) {
    throw model_error{"ERR"};
  }
  const reply old = get_old ? get(c) : null_bulk();
  const bool exists = c.keys.contains(c.a[1]);
  if ((nx && exists) || (xx && !exists)) {
    return old;
  }
  const std::int64_t expires = keep && exists ? c.keys[c.a[1]].expires : 0;
  c.keys[c.a[1]] = value_model{c.a[2], expires, 0};
  return get_old ? old : simple("OK");
}

reply setnx(model_call& c) {
  const bool exists = c.keys.contains(c.a[1]);
  if (!exists) {
    c.assign(c.a[1], c.a[2]);
  }
  return integer(exists ? 0 : 1);
}

reply getset(model_call& c) {
  const reply old = get(c);
  c.assign(c.a[1], c.a[2]);
  return old;
}

reply getdel(model_call& c) {
  const reply old = get(c);
  c.keys.erase(c.a[1]);
  return old;
}

void check_length(std::size_t size) {
  if (size > max_string) {
    throw model_error{"ERR"};
  }
}

reply setrange(model_call& c) {
  const std::int64_t offset = c.number(2);
  if (offset < 0) {
    throw model_error{"ERR"};
  }
  const auto* old = c.find<std::string>(c.a[1]);
  if (c.a[3].empty()) {
    return integer(old == nullptr ? 0 : static_cast<long long>(old->size()));
  }
  const std::size_t end = static_cast<std::size_t>(offset) + c.a[3].size();
  check_length(end);
  std::string& text = c.make<std::string>(c.a[1]);
  text.resize(std::max(text.size(), end));
  text.replace(static_cast<std::size_t>(offset), c.a[3].size(), c.a[3]);
  return integer(static_cast<long long>(text.size()));
}

reply append(model_call& c) {
  if (const auto* old = c.find<std::string>(c.a[1])) {
    check_length(old->size() + c.a[2].size());
  }
  std::string& text = c.make<std::string>(c.a[1]);
  text += c.a[2];
  return integer(static_cast<long long>(text.size()));
}

reply strlen(model_call& c) {
  const auto* text = c.find<std::string>(c.a[1]);
  return integer(text == nullptr ? 0 : static_cast<long long>(text->size()));
}

reply getrange(model_call& c) {
  const std::int64_t first = c.number(2), last = c.number(3);
  const auto* text = c.find<std::string>(c.a[1]);
  if (text == nullptr || text->empty() || (first < 0 && last < 0 && first > last)) {
    return bulk("");
  }
  // An end before the first byte is the first byte.
  const bool before = last < 0 && last < -static_cast<std::int64_t>(text->size());
  const span_of part = span_between(first, before ? 0 : last, text->size());
  return bulk(text->substr(part.first, part.count));
}

reply mget(model_call& c) {
  reply all = array();
  for (std::size_t i = 1; i < c.size(); ++i) {
    const auto found = c.keys.find(c.a[i]);
    all.elements.push_back(
        text_or_null(found == c.keys.end() ? nullptr : std::get_if<std::string>(&found->second.content)));
  }
  return all;
}

bool set_pairs(model_call& c, bool only_new) {
  if (c.size() % 2 == 0) {
    throw model_error{"ERR"};
  }
  for (std::size_t i = 1; only_new && i < c.size(); i += 2) {
    if (c.keys.contains(c.a[i])) {
      return false;
    }
  }
  for (std::size_t i = 1; i < c.size(); i += 2) {
    c.assign(c.a[i], c.a[i + 1]);
  }
  return true;
}

reply add(model_call& c, __int128 increment) {
  using limits = std::numeric_limits<std::int64_t>;
  if (increment > limits::max()) {  // a decrement that cannot be negated: before the key is looked at
    throw model_error{"ERR"};
  }
  const auto* text = c.find<std::string>(c.a[1]);
  const auto old = text == nullptr ? 0 : c.strict_integer(*text);
  if (!old) {
    throw model_error{"ERR"};
  }
  const __int128 sum = *old + increment;
  if (sum < limits::min() || sum > limits::max()) {
    throw model_error{"ERR"};
  }
  c.make<std::string>(c.a[1]) = std::to_string(static_cast<std::int64_t>(sum));
  return integer(static_cast<std::int64_t>(sum));
}

// What is left, or the moment, in milliseconds; below 0: why there is none.
std::int64_t expiry(model_call& c, bool left) {
  const auto found = c.keys.find(c.a[1]);
  if (found == c.keys.end()) {
    return -2;
  }
  const std::int64_t when = found->second.expires;
  return when == 0 ? -1 : left ? when - c.now : when;
}

std::int64_t in_seconds(std::int64_t milliseconds) {
  return milliseconds < 0 ? milliseconds : static_cast<std::int64_t>((milliseconds + __int128{500}) / 1000);
}

reply expire(model_call& c, std::int64_t unit, bool relative) {
  const __int128 when = static_cast<__int128>(c.number(2)) * unit + (relative ? c.now : 0);
  constexpr __int128 most = std::numeric_limits<std::int64_t>::max();
  if (when > most || static_cast<__int128>(c.number(2)) * unit < -most - 1) {
    throw model_error{"ERR"};
  }
  const auto found = c.keys.find(c.a[1]);
  if (found == c.keys.end()) {
    return integer(0);
  }
  if (when <= c.now) {
    c.keys.erase(found);
  } else {
    found->second.expires = static_cast<std::int64_t>(when);
  }
  return integer(1);
}

reply persist(model_call& c) {
  const auto found = c.keys.find(c.a[1]);
  const bool had = found != c.keys.end() && found->second.expires != 0;
  if (had) {
    found->second.expires = 0;
  }
  return integer(had ? 1 : 0);
}

reply count_keys(model_call& c, bool erase) {
  long long count = 0;
  for (std::size_t i = 1; i < c.size(); ++i) {
    count += c.keys.contains(c.a[i]) ? 1 : 0;
    if (erase) {
      c.keys.erase(c.a[i]);
    }
  }
  return integer(count);
}

reply type(model_call& c) {
  static const char* const names[] = {"string", "list", "set", "hash", "zset"};
  const auto found = c.keys.find(c.a[1]);
  return simple(found == c.keys.end() ? "none" : names[found->second.content.index()]);
}

reply rename(model_call& c, bool only_new) {
  if (!c.keys.contains(c.a[1])) {
    throw model_error{"ERR"};
  }
  if (only_new && c.keys.contains(c.a[2])) {
    return integer(0);
  }
  value_model moved = std::move(c.keys[c.a[1]]);
  c.keys.erase(c.a[1]);
  c.keys[c.a[2]] = std::move(moved);
  return only_new ? integer(1) : simple("OK");
}

reply list_keys(model_call& c) {
  c.any_order = true;
  reply all = array();
  for (const auto& [key, value] : c.keys) {
    all.elements.push_back(bulk(key));
  }
  return all;
}

bool has_equal_scores(const keyspace& keys, const std::string& key) {
  const auto found = keys.find(key);
  const auto* set = found == keys.end() ? nullptr : std::get_if<sorted_set_model>(&found->second.content);
  return set == nullptr || std::all_of(set->begin(), set->end(),
                                       [&](const auto& each) { return each.second == set->begin()->second; });
}

// Whether the model knows all options. Ranges of names mean nothing where scores differ.
bool knows(const words& command, const keyspace& keys) {
  const std::string& name = command[0];
  if (name == "keys") {
    return command[1] == "*";
  }
  if (name == "set") {
    static const std::set<std::string> known{"NX", "XX", "GET", "KEEPTTL"};
    return std::all_of(command.begin() + 3, command.end(),
                       [](const std::string& each) { return known.contains(upper(each)); });
  }
  if (name == "zrange" || name == "zrevrange") {
    return command.size() == 4 || (command.size() == 5 && upper(command[4]) == "WITHSCORES");
  }
  if (name.starts_with("expire") || name.starts_with("pexpire")) {
    return command.size() <= 3;
  }
  if (name.starts_with("z") && name.find("lex") != std::string::npos) {
    return command.size() == 4 && has_equal_scores(keys, command[1]);
  }
  if (name == "hdel") {  // a large hash does not keep its fields' order
    const auto found = keys.find(command[1]);
    const auto* hash = found == keys.end() ? nullptr : std::get_if<hash_model>(&found->second.content);
    return hash == nullptr || hash->size() <= 512;
  }
  return !(name == "zrangebyscore" || name == "zrevrangebyscore") || command.size() == 4;
}

}  // namespace

handlers string_models() {
  return {
      {"get", get},
      {"set", set},
      {"setnx", setnx},
      {"getset", getset},
      {"getdel", getdel},
      {"append", append},
      {"setrange", setrange},
      {"strlen", strlen},
      {"getrange", getrange},
      {"substr", getrange},
      {"mget", mget},
      {"mset", [](model_call& c) { return set_pairs(c, false), simple("OK"); }},
      {"msetnx", [](model_call& c) { return integer(set_pairs(c, true) ? 1 : 0); }},
      {"incr", [](model_call& c) { return add(c, 1); }},
      {"decr", [](model_call& c) { return add(c, -1); }},
      {"incrby", [](model_call& c) { return add(c, c.number(2)); }},
      {"decrby", [](model_call& c) { return add(c, -__int128{c.number(2)}); }},
  };
}

handlers key_models() {
  return {
      {"del", [](model_call& c) { return count_keys(c, true); }},
      {"unlink", [](model_call& c) { return count_keys(c, true); }},
      {"exists", [](model_call& c) { return count_keys(c, false); }},
      {"touch", [](model_call& c) { return count_keys(c, false); }},
      {"type", type},
      {"keys", list_keys},
      {"rename", [](model_call& c) { return rename(c, false); }},
      {"renamenx", [](model_call& c) { return rename(c, true); }},
      {"persist", persist},
      {"expire", [](model_call& c) { return expire(c, 1000, true); }},
      {"pexpire", [](model_call& c) { return expire(c, 1, true); }},
      {"expireat", [](model_call& c) { return expire(c, 1000, false); }},
      {"pexpireat", [](model_call& c) { return expire(c, 1, false); }},
      {"ttl", [](model_call& c) { return integer(in_seconds(expiry(c, true))); }},
      {"pttl", [](model_call& c) { return integer(expiry(c, true)); }},
      {"expiretime", [](model_call& c) { return integer(in_seconds(expiry(c, false))); }},
      {"pexpiretime", [](model_call& c) { return integer(expiry(c, false)); }},
  };
}

std::optional<expectation> predict(const words& command, keyspace& keys, std::int64_t now) {
  static const handlers all = [] {
    handlers found;
    for (auto* part :
         {string_models, key_models, list_models, set_models, hash_models, sorted_set_models, sort_models}) {
      found.merge(part());
    }
    return found;
  }();
  const auto found = all.find(command[0]);
  if (found == all.end() || !knows(command, keys)) {
    return std::nullopt;
  }
  model_call call{command, keys, now};
  try {
    reply answer = found->second(call);
    return expectation{std::move(answer), call.any_order};
  } catch (const model_error& error) {
    reply answer = simple(error.code);
    answer.type = '-';
    return expectation{std::move(answer)};
  }
}

}  // namespace kv::fuzz
