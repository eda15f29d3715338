// The store: a hash table from binary-safe keys to values, for one thread.
//
// Chained buckets, one allocation per entry with the key behind it. The table grows and shrinks a few
// buckets at a time, during later operations: no single request pays for moving a million entries. While it
// does, there are two tables; new entries go to the new one.
// Rejected: std::unordered_map (rehashes in one go, which stalls every client) and open addressing (moves
// entries about while somebody scans).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "siphash.hpp"

namespace kv {

class store {
public:
  // A key's value. A pointer to one is good until the next call of a function that is not const.
  using value = std::string;

  store();
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store();

  const value* find(std::string_view key);
  void set(std::string_view key, std::string_view text);  // throws std::bad_alloc, then nothing has changed
  bool erase(std::string_view key);                       // whether there was such a key

  std::size_t size() const { return tables_[0].used + tables_[1].used; }

  // Bytes held for entries and tables, without the allocator's overhead.
  std::size_t used_memory() const { return used_memory_; }

private:
  struct entry {
    entry* next;
    std::uint64_t hash;
    value text;
    std::size_t key_size;

    std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_size}; }
    std::size_t memory() const;
  };

  struct free_memory {
    void operator()(void* memory) const { std::free(memory); }
  };

  struct table {
    std::unique_ptr<entry*[], free_memory> buckets;
    std::size_t count = 0;  // of buckets, a power of two
    std::size_t used = 0;   // entries

    entry** bucket(std::uint64_t hash) const { return &buckets[hash & (count - 1)]; }
    std::size_t memory() const { return count * sizeof(entry*); }
  };

  // The link, a bucket or a `next`, that points to an entry; link == nullptr: there is none.
  struct place {
    table* in;
    entry** link;
  };

  static table make_table(std::size_t buckets);
  static entry* make_entry(std::string_view key, std::uint64_t hash, std::string_view text);
  static void destroy(entry* gone);

  std::uint64_t hash_of(std::string_view key) const { return siphash<1, 2>(hash_key_)(key); }
  bool is_moving() const { return tables_[1].count != 0; }
  place locate(std::string_view key, std::uint64_t hash);
  void resize_if_needed();
  void start_move(std::size_t buckets);
  void move_some();
  void move_bucket(entry*& bucket);
  void finish_move();

  siphash_key hash_key_;
  table tables_[2];            // [1] only while entries move there from [0]
  std::size_t next_move_ = 0;  // the buckets of [0] before it are empty
  std::size_t used_memory_ = 0;
};

}  // namespace kv
