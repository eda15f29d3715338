// What the parts of the model share: a command being carried out on a model of the store.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "model.hpp"

namespace kv::fuzz {

inline std::string upper(std::string word) {
  for (char& each : word) {
    each = each >= 'a' && each <= 'z' ? static_cast<char>(each - 0x20) : each;
  }
  return word;
}

struct model_error {
  std::string code;
};

struct model_call {
  const words& a;  // [0] is the name, in lower case
  keyspace& keys;
  std::int64_t now;
  bool any_order = false;

  std::size_t size() const { return a.size(); }

  // nullptr: no such key.
  template <class Type>
  Type* find(const std::string& key) {
    const auto found = keys.find(key);
    if (found == keys.end()) {
      return nullptr;
    }
    auto* typed = std::get_if<Type>(&found->second.content);
    if (typed == nullptr) {
      throw model_error{"WRONGTYPE"};
    }
    return typed;
  }

  template <class Type>
  Type& make(const std::string& key) {
    auto* found = find<Type>(key);
    return found != nullptr ? *found : keys[key].content.template emplace<Type>();
  }

  template <class Type>
  void tidy(const std::string& key) {
    if (const auto* found = find<Type>(key); found != nullptr && found->empty()) {
      keys.erase(key);
    }
  }

  void assign(const std::string& key, std::string text) { keys[key] = value_model{std::move(text), 0, 0}; }

  std::int64_t number(std::size_t index) const {
    const auto parsed = strict_integer(a[index]);
    if (!parsed) {
      throw model_error{"ERR"};
    }
    return *parsed;
  }

  std::string option(std::size_t index) const { return upper(a[index]); }

  static std::optional<std::int64_t> strict_integer(const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const long long parsed = std::strtoll(text.c_str(), &end, 10);
    return errno == 0 && std::to_string(parsed) == text ? std::optional<std::int64_t>(parsed) : std::nullopt;
  }
};

// The elements of an array from one index to another, which count from the end if negative.
struct span_of {
  std::size_t first = 0, count = 0;
};
inline span_of span_between(std::int64_t first, std::int64_t last, std::size_t size) {
  const auto length = static_cast<__int128>(size);
  __int128 from = first, to = last;
  from = from < 0 ? std::max<__int128>(from + length, 0) : from;
  to = std::min<__int128>(to < 0 ? to + length : to, length - 1);
  return from > to ? span_of{}
                   : span_of{static_cast<std::size_t>(from), static_cast<std::size_t>(to - from + 1)};
}

inline long long count_of(std::size_t size) {
  return static_cast<long long>(size);
}

template <class Type>
reply size_of(model_call& c) {
  const auto* found = c.find<Type>(c.a[1]);
  return integer(found == nullptr ? 0 : count_of(found->size()));
}

using handler = reply (*)(model_call&);
using handlers = std::map<std::string, handler>;

handlers string_models();
handlers key_models();
handlers list_models();
handlers set_models();
handlers hash_models();
handlers sorted_set_models();
handlers sort_models();

}  // namespace kv::fuzz
