// Copying the store's contents.
#include "snapshot.hpp"

#include "harness.hpp"

namespace kv::fuzz {

namespace {

constexpr std::size_t far_too_much = std::size_t{1} << 40;  // bytes: an account that went below zero

list_model copy(const list_value& list) {
  list_model copied;
  std::size_t texts = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    copied.push_back(list[i]);
    texts += text_memory(list[i]);
  }
  require(list.memory() == sizeof(list) + list.size() * sizeof(std::string) + texts,
          "a list is charged what it holds");
  return copied;
}

set_model copy(const set_value& set) {
  set_model copied;
  for (std::size_t i = 0; i < set.size(); ++i) {
    require(set.contains(set[i]), "a set has its members");
    require(copied.insert(set[i]).second, "a set has a member once");
  }
  return copied;
}

hash_model copy(const hash_value& hash) {
  hash_model copied;
  for (const auto& field : hash) {
    require(hash.find(field.name) == &field.content, "a hash has a field once, and finds it");
    copied.emplace_back(field.name, field.content);
  }
  return copied;
}

sorted_set_model copy(const sorted_set_value& set) {
  sorted_set_model copied;
  auto at = set.at(0);
  for (std::size_t rank = 0; rank < set.size(); ++rank, ++at) {
    const auto& [score, name] = *at;
    const double* found = set.score(name);
    require(found != nullptr && *found == score, "a sorted set knows the score of its members");
    require(set.rank(name, score) == rank, "a sorted set knows the ranks of its members");
    require(copied.emplace(name, score).second, "a sorted set has a member once");
  }
  return copied;
}

value_model copy_value(const any_value& content) {
  require(!is_empty_collection(content), "no empty collection is kept");
  require(memory_of(content) < far_too_much, "no value is charged less than nothing");
  value_model copied;
  if (const auto* text = get_as<std::string>(content)) {
    copied.content = *text;
  } else if (const auto* list = get_as<list_value>(content)) {
    copied.content = copy(*list);
  } else if (const auto* set = get_as<set_value>(content)) {
    copied.content = copy(*set);
  } else if (const auto* hash = get_as<hash_value>(content)) {
    copied.content = copy(*hash);
  } else {
    copied.content = copy(*get_as<sorted_set_value>(content));
  }
  return copied;
}

std::string printed(const value_model& one) {
  std::string text;
  const auto add = [&](const std::string& item) { text += ' ' + quoted(item.substr(0, 80)); };
  if (const auto* plain = std::get_if<std::string>(&one.content)) {
    add(*plain);
  } else if (const auto* list = std::get_if<list_model>(&one.content)) {
    std::for_each(list->begin(), list->end(), add);
  } else if (const auto* set = std::get_if<set_model>(&one.content)) {
    std::for_each(set->begin(), set->end(), add);
  } else if (const auto* hash = std::get_if<hash_model>(&one.content)) {
    for (const auto& [name, field] : *hash) {
      add(name + "=" + field);
    }
  } else {
    for (const auto& [name, score] : std::get<sorted_set_model>(one.content)) {
      add(name + "=" + std::to_string(score));
    }
  }
  return text + ", expires " + std::to_string(one.expires) + ", version " + std::to_string(one.version);
}

}  // namespace

keyspace copy_of(store& keys, bool details) {
  keyspace copied;
  keys.for_each([&](std::string_view key, const any_value& content) {
    require(copied.emplace(key, copy_value(content)).second, "there is a key once");
  });
  require(keys.used_memory() < far_too_much, "the store is not charged less than nothing");
  require(keys.size() >= copied.size() && keys.size() - copied.size() <= keys.expiring(),
          "the number of keys is right, but for those whose time is over");
  for (auto& [key, value] : copied) {
    if (details) {
      value.expires = keys.expires_at(key);
      value.version = keys.version(key);
      require(value.expires == 0 || value.expires >= keys.now(), "no key is shown whose time is over");
    }
  }
  return copied;
}

std::string printed(const keyspace& keys) {
  static const char* const types[] = {"string", "list", "set", "hash", "zset"};
  std::string text;
  for (const auto& [key, value] : keys) {
    text += "  " + quoted(key) + ' ' + types[value.content.index()] + printed(value) + '\n';
  }
  return text;
}

}  // namespace kv::fuzz
