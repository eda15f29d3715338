// The model of the commands on hashes.
#include "model_base.hpp"

namespace kv::fuzz {

namespace {

// nullptr: there is no such field.
std::string* field_in(hash_model* hash, const std::string& field) {
  if (hash != nullptr) {
    for (auto& [name, text] : *hash) {
      if (name == field) {
        return &text;
      }
    }
  }
  return nullptr;
}

bool set_field(model_call& c, const std::string& field, const std::string& text) {
  auto& hash = c.make<hash_model>(c.a[1]);
  if (std::string* old = field_in(&hash, field)) {
    *old = text;
    return false;
  }
  hash.emplace_back(field, text);
  return true;
}

long long set_fields(model_call& c) {
  if (c.size() % 2 != 0) {
    throw model_error{"ERR"};
  }
  long long added = 0;
  for (std::size_t i = 2; i < c.size(); i += 2) {
    added += set_field(c, c.a[i], c.a[i + 1]) ? 1 : 0;
  }
  return added;
}

reply field_reply(model_call& c, const std::string& field) {
  const std::string* text = field_in(c.find<hash_model>(c.a[1]), field);
  return text == nullptr ? null_bulk() : bulk(*text);
}

reply hsetnx(model_call& c) {
  if (field_in(c.find<hash_model>(c.a[1]), c.a[2]) != nullptr) {
    return integer(0);
  }
  set_field(c, c.a[2], c.a[3]);
  return integer(1);
}

reply hmget(model_call& c) {
  reply all = array();
  for (std::size_t i = 2; i < c.size(); ++i) {
    all.elements.push_back(field_reply(c, c.a[i]));
  }
  c.find<hash_model>(c.a[1]);
  return all;
}

reply hall(model_call& c, bool names, bool texts) {
  reply all = array();
  if (const auto* hash = c.find<hash_model>(c.a[1])) {
    for (const auto& [name, text] : *hash) {
      if (names) {
        all.elements.push_back(bulk(name));
      }
      if (texts) {
        all.elements.push_back(bulk(text));
      }
    }
  }
  return all;
}

reply hdel(model_call& c) {
  auto* hash = c.find<hash_model>(c.a[1]);
  long long removed = 0;
  for (std::size_t i = 2; hash != nullptr && i < c.size(); ++i) {
    removed += count_of(std::erase_if(*hash, [&](const auto& each) { return each.first == c.a[i]; }));
  }
  c.tidy<hash_model>(c.a[1]);
  return integer(removed);
}

reply hincrby(model_call& c) {
  const std::int64_t increment = c.number(3);
  const std::string* text = field_in(c.find<hash_model>(c.a[1]), c.a[2]);
  const auto old = text == nullptr ? 0 : c.strict_integer(*text);
  std::int64_t sum = 0;
  if (!old || __builtin_add_overflow(*old, increment, &sum)) {
    throw model_error{"ERR"};
  }
  set_field(c, c.a[2], std::to_string(sum));
  return integer(sum);
}

}  // namespace

handlers hash_models() {
  return {
      {"hset", [](model_call& c) { return integer(set_fields(c)); }},
      {"hmset", [](model_call& c) { return set_fields(c), simple("OK"); }},
      {"hsetnx", hsetnx},
      {"hget", [](model_call& c) { return field_reply(c, c.a[2]); }},
      {"hmget", hmget},
      {"hgetall", [](model_call& c) { return hall(c, true, true); }},
      {"hkeys", [](model_call& c) { return hall(c, true, false); }},
      {"hvals", [](model_call& c) { return hall(c, false, true); }},
      {"hexists",
       [](model_call& c) {
         return integer(field_in(c.find<hash_model>(c.a[1]), c.a[2]) != nullptr ? 1 : 0);
       }},
      {"hlen", size_of<hash_model>},
      {"hstrlen",
       [](model_call& c) {
         const reply text = field_reply(c, c.a[2]);
         return integer(count_of(text.text.size()));
       }},
      {"hdel", hdel},
      {"hincrby", hincrby},
  };
}

}  // namespace kv::fuzz
