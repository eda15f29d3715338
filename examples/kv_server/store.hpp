// The store: a hash table from binary-safe keys to values of any type, for one thread.
//
// It has chained buckets, and one allocation per entry with the key behind it. The table grows and shrinks a
// few buckets at a time, during later operations: no single request pays for moving a million entries. While
// it does, there are two tables; new entries go to the new one.
// Rejected: std::unordered_map (it rehashes in one go, which stalls every client) and open addressing.
//
// Removed values of many elements, and all entries after clear(), become garbage, which destroy_garbage()
// destroys some elements at a time. Garbage still counts as used memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "siphash.hpp"
#include "value.hpp"

namespace kv {

// The key of the hash function, random for each process.
const siphash_key& process_hash_key();

class store {
  struct entry;

public:
  store();
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store();

  // A key's value, valid until this key is changed.
  const any_value* find(std::string_view key);
  // Makes the key's value a string. If this throws std::bad_alloc, nothing has changed.
  void set(std::string_view key, std::string_view text);
  bool erase(std::string_view key);  // whether there was such a key
  void clear();

  // Destroys a value later, with the garbage, if it has many elements.
  void discard(any_value&& content);

  // Destroys at most `most` elements of removed values. Returns whether there are more.
  bool destroy_garbage(std::size_t most);

  // A value while it is being changed in place. When this ends the account is right again, and a collection
  // that has become empty is gone. No other function of the store may be called meanwhile.
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

  // Differs after every change of the key's value, removal included. For a key that does not exist this only
  // holds if the key is kept in view meanwhile.
  std::uint64_t version(std::string_view key);
  void keep_in_view(std::string_view key);
  void lose_from_view(std::string_view key);

  using visitor = std::function<void(std::string_view key, const any_value& content)>;
  // Visits a few buckets. Returns where to continue, 0 at the end; begins with 0. Every key that exists from
  // the first call to the last is visited, some perhaps twice, however the table moves in between.
  std::uint64_t scan(std::uint64_t cursor, const visitor& visit) const;

  std::size_t size() const { return tables_[0].used + tables_[1].used; }

  // The table does not grow over it; its chains become longer instead. 0: no limit.
  void limit_memory(std::size_t bytes) { memory_limit_ = bytes; }

  // Bytes held for entries and tables, without the allocator's overhead.
  std::size_t used_memory() const { return used_memory_; }

private:
  // What every look-up reads stands next to the key.
  struct entry {
    std::uint64_t version;
    entry* next;
    std::uint64_t hash;
    any_value content;
    std::size_t key_size;

    std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_size}; }
    std::size_t memory() const { return sizeof(entry) + key_size + memory_of(content); }
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
  static entry* make_entry(std::string_view key, std::uint64_t hash, any_value&& content);
  static void destroy(entry* gone);
  static void destroy_all(table& gone);
  bool destroy_some_cleared(std::size_t most);

  std::uint64_t hash_of(std::string_view key) const { return siphash<1, 2>(process_hash_key())(key); }
  bool is_moving() const { return tables_[1].count != 0; }
  place locate(std::string_view key, std::uint64_t hash);
  entry* find_entry(std::string_view key, std::uint64_t hash);
  entry* find_entry(std::string_view key) { return find_entry(key, hash_of(key)); }
  entry* insert(std::string_view key, std::uint64_t hash, any_value&& content);
  void remove(const place& found);
  void remove(entry& gone);
  void visit_bucket(const entry* first, const visitor& visit) const;
  void resize_if_needed();
  void start_move(std::size_t buckets);
  void move_some();
  void move_bucket(entry*& bucket);
  void finish_move();

  table tables_[2];            // [1] only while entries move there from [0]
  std::size_t next_move_ = 0;  // the buckets of [0] before it are empty
  std::size_t used_memory_ = 0;
  std::size_t memory_limit_ = 0;
  std::uint64_t last_version_ = 0;
  struct view {
    std::size_t watchers = 0;
    std::uint64_t version = 0;  // when such a key was last created
  };
  std::map<std::string, view, std::less<>> in_view_;
  struct cleared_table {
    table held;
    std::size_t next = 0;  // the buckets before it are empty
  };
  std::vector<any_value> removed_;
  std::vector<cleared_table> cleared_;
};

}  // namespace kv
