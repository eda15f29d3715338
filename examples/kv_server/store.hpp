// The store: a hash table from binary-safe keys to values of any type, for one thread.
//
// It has chained buckets, and one allocation for each entry with the key behind it. The table consists of
// 4,096 shards that grow and shrink on their own, so that no request pays for moving a million entries.
//
// Removed values of many elements, and all entries after clear(), become garbage, which destroy_garbage()
// destroys some elements at a time. Garbage still counts as used memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "value.hpp"

namespace kv {

class store {
  struct entry;

public:
  store();
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store();

  // The hash of a key, different in each process.
  static std::uint64_t hash_of(std::string_view key);

  // A key's value, valid until this key is removed.
  const any_value* find(std::string_view key) const;
  // Makes the key's value a string. If this throws std::bad_alloc, nothing has changed.
  void set(std::string_view key, std::string_view text);
  // Replaces the key's value, if there is any.
  void put(std::string_view key, any_value&& content);
  bool erase(std::string_view key);  // whether there was such a key
  void clear();
  // Increases with each clear(), which sets no flag of watch().
  std::uint64_t epoch() const { return epoch_; }

  // Destroys at most `most` elements of removed values. Returns whether there are more.
  bool destroy_garbage(std::size_t most);

  // A value while it is being changed in place. When this ends the account is right again, and a collection
  // that has become empty is gone. The key must not be removed meanwhile.
  class edit {
  public:
    edit(store& keys, std::string_view key);
    edit(const edit&) = delete;
    edit& operator=(const edit&) = delete;
    ~edit();

    any_value* get() const;  // nullptr: no such key
    // There must be no such key. Throws std::bad_alloc, then nothing has changed.
    any_value& create(any_value&& content);
    void unchanged() { changed_ = false; }  // it was only looked at after all

  private:
    store& keys_;
    std::string_view key_;
    entry* entry_;
    std::size_t before_ = 0;
    bool changed_ = true;
  };

  // Sets the flag once the key's value is changed, created or removed, except by clear().
  void watch(std::string_view key, bool& changed) { watched_[std::string(key)].insert(&changed); }
  void unwatch(std::string_view key, bool& changed);

  template <class Visit>
  void for_each_key(Visit visit) const {
    for (std::size_t i = 0; i < shard_count; ++i) {
      for (std::size_t at = 0; at < shards_[i].count; ++at) {
        for (const entry* each = shards_[i].buckets[at]; each != nullptr; each = each->next) {
          visit(each->key());
        }
      }
    }
  }
  std::size_t size() const { return size_; }

  // Tables do not grow over it; chains become longer instead. 0: no limit.
  void limit_memory(std::size_t bytes) { memory_limit_ = bytes; }
  // Bytes held for entries and buckets, without the allocator's overhead.
  std::size_t used_memory() const { return used_memory_; }

private:
  // What every look-up reads stands next to the key.
  struct entry {
    entry* next;
    std::uint64_t hash;
    any_value content;
    std::size_t key_size;

    std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_size}; }
    std::size_t memory() const { return sizeof(entry) + key_size + memory_of(content); }
  };

  struct shard {
    entry** buckets = nullptr;
    std::uint32_t count = 0;  // of buckets, a power of two
    std::uint32_t used = 0;   // entries
  };
  static constexpr std::size_t shard_count = 4096;

  shard& shard_of(std::uint64_t hash) const { return shards_[hash >> 52]; }
  entry** locate(std::string_view key, std::uint64_t hash) const;  // the link to it; nullptr: there is none
  entry* insert(std::string_view key, std::uint64_t hash, any_value&& content);
  void remove(entry** link);
  void resize(shard& one, std::size_t count);
  void touch(std::string_view key);
  // Destroys a value later, with the garbage, if it is large.
  void discard(any_value&& content);
  void destroy_removed_element();
  void destroy_cleared_entry();
  static void destroy(entry* gone);

  std::unique_ptr<shard[]> shards_;
  std::size_t size_ = 0;
  std::size_t used_memory_ = 0;
  std::size_t memory_limit_ = 0;
  std::uint64_t epoch_ = 1;
  std::map<std::string, std::set<bool*>, std::less<>> watched_;
  std::vector<any_value> removed_;
  std::vector<std::unique_ptr<shard[]>> cleared_;
  std::size_t next_cleared_ = 0;  // of the last one's shards: those before it are empty
};

}  // namespace kv
