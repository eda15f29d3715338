// The store: a hash table from binary-safe keys to values of any type, for one thread.
//
// The table consists of 4,096 maps that grow on their own, so that no request pays for moving a million
// entries.
//
// Removed values of many elements, and all entries after clear(), become garbage, which destroy_garbage()
// destroys some elements at a time. Garbage still counts as used memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "value.hpp"

namespace kv {

class store {
public:
  ~store();

  // A key's value, valid until this key is removed.
  any_value* find(std::string_view key);
  const any_value* find(std::string_view key) const { return const_cast<store*>(this)->find(key); }
  // Makes the key's value a string. If this throws std::bad_alloc, nothing has changed.
  void set(std::string_view key, std::string_view content);
  // There must be no such key. Throws std::bad_alloc, then nothing has changed.
  any_value& create(std::string_view key, any_value&& content);
  bool erase(std::string_view key);  // whether there was such a key
  void clear();
  // Increases with each clear(), which sets no flag of watch().
  std::uint64_t epoch() const { return epoch_; }

  // Destroys at most `most` elements of removed values. Returns whether there are more.
  bool destroy_garbage(std::size_t most);

  // Sets the flag once the key's value is changed, created or removed, except by clear().
  void watch(std::string_view key, bool& changed) { watched_[std::string(key)].insert(&changed); }
  void unwatch(std::string_view key, bool& changed);
  void touch(std::string_view key);  // call it after a change in place

  std::size_t size() const { return size_; }

  // Maps do not get more buckets over it; their chains become longer instead. 0: no limit.
  void limit_memory(std::size_t bytes) { memory_limit_ = bytes; }

private:
  // A key whose hash has been computed.
  struct hashed {
    std::string_view key;
    std::uint64_t hash;
  };
  struct hasher {
    using is_transparent = void;
    std::uint64_t operator()(const hashed& one) const { return one.hash; }
    std::uint64_t operator()(const stored_text& key) const { return hash(key).hash; }
  };
  struct equal {
    using is_transparent = void;
    bool operator()(const hashed& one, const stored_text& key) const { return one.key == key; }
    bool operator()(const stored_text& one, const stored_text& other) const { return one == other; }
  };
  using shard = std::unordered_map<stored_text, any_value, hasher, equal,
                                   counting_allocator<std::pair<const stored_text, any_value>>>;
  using table = std::vector<shard, counting_allocator<shard>>;
  static constexpr std::size_t shard_count = 4096;

  static hashed hash(std::string_view key);  // different in each process
  shard& shard_of(const hashed& wanted) { return shards_[wanted.hash >> 52]; }
  any_value& insert(const hashed& wanted, any_value&& content);
  // Destroys a value later, with the garbage, if it is large.
  void discard(any_value&& content);
  void destroy_cleared_entry();

  table shards_ = table(shard_count);
  std::size_t size_ = 0;
  std::size_t memory_limit_ = 0;
  std::uint64_t epoch_ = 1;
  std::map<std::string, std::set<bool*>, std::less<>> watched_;
  std::vector<any_value> removed_;
  std::vector<table> cleared_;
};

}  // namespace kv
