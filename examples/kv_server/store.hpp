// The store: a hash table from binary-safe keys to values of any type, some with a time to live, for one
// thread.
//
// Chained buckets, one allocation per entry with the key behind it. The table grows and shrinks a few
// buckets at a time, during later operations: no single request pays for moving a million entries. While it
// does, there are two tables; new entries go to the new one.
// Rejected: std::unordered_map (rehashes in one go, which stalls every client) and open addressing (moves
// entries about while somebody scans).
//
// Expiry. Entries with a time to live are also in a tree ordered by that time. Whoever comes across an entry
// whose time is over removes it; expire_some() removes those that nobody comes across.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "siphash.hpp"
#include "value.hpp"

namespace kv {

// Milliseconds since 1970 by the system's clock: clients name moments on it (EXPIREAT).
std::int64_t unix_milliseconds();

class store {
  struct entry;

public:
  using clock = std::int64_t (*)();

  explicit store(clock source = unix_milliseconds);
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store();

  // The time stands still, as far as the store is concerned, until this is called: a key that one line of a
  // command has found does not run out before the next line.
  void go_on_in_time() { moment_ = 0; }
  std::int64_t now() const {
    if (moment_ == 0) {
      moment_ = now_();
    }
    return moment_;
  }

  // A key's value; good until this key is changed, or the time goes on.
  const any_value* find(std::string_view key);
  // Makes the key's value a string; its time to live ends, or is kept. Throws std::bad_alloc, then nothing
  // has changed.
  void set(std::string_view key, std::string_view text, bool keep_expiry = false);
  bool erase(std::string_view key);  // whether there was such a key
  void clear();

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

  // Moves a value and its time to live to another name, over whatever is there. The two names differ.
  void rename(std::string_view from, std::string_view to);

  // In milliseconds since 1970; the key must exist. 0: no time to live.
  std::int64_t expires_at(std::string_view key);
  void expire_at(std::string_view key, std::int64_t when);

  // Removes entries whose time is over, `most` at most. Returns how many.
  std::size_t expire_some(std::size_t most);
  std::size_t expiring() const { return by_expiry_.size(); }
  std::uint64_t expired() const { return expired_; }  // so far

  // Differs after every change of the key's value or time to live, removal included. Of a key that is not
  // there it only does if that key is kept in view meanwhile.
  std::uint64_t version(std::string_view key);
  void keep_in_view(std::string_view key);
  void lose_from_view(std::string_view key);

  using visitor = std::function<void(std::string_view key, const any_value& content)>;
  // Visits a few buckets; returns where to go on, 0: that was all. Begins with 0. Every key that is there
  // from the first call to the last is visited, some perhaps twice, however the table moves in between.
  std::uint64_t scan(std::uint64_t cursor, const visitor& visit) const;
  void for_each(const visitor& visit) const;

  // nullptr: there are no keys.
  std::optional<std::string_view> random_key();

  std::size_t size() const { return tables_[0].used + tables_[1].used; }

  // Bytes held for entries and tables, without the allocator's overhead.
  std::size_t used_memory() const { return used_memory_; }

private:
  // What every look-up reads stands next to the key.
  struct entry {
    std::uint64_t version;
    std::int64_t expires_at;
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

  using expiry = std::pair<std::int64_t, entry*>;
  static constexpr std::size_t expiry_memory = sizeof(expiry) + 32;  // a node of the tree

  static table make_table(std::size_t buckets);
  static entry* make_entry(std::string_view key, std::uint64_t hash, any_value&& content);
  static void destroy(entry* gone);
  static void destroy_all(table& gone);

  std::uint64_t hash_of(std::string_view key) const { return siphash<1, 2>(process_hash_key())(key); }
  bool is_over(const entry& one) const { return one.expires_at != 0 && one.expires_at < now(); }
  bool is_moving() const { return tables_[1].count != 0; }
  place locate(std::string_view key, std::uint64_t hash);
  entry* find_entry(std::string_view key, std::uint64_t hash);
  entry* find_entry(std::string_view key) { return find_entry(key, hash_of(key)); }
  entry* insert(std::string_view key, std::uint64_t hash, any_value&& content);
  void remove(const place& found);
  void remove(entry& gone);
  void change_expiry(entry& one, std::int64_t when);
  void visit_bucket(const entry* first, const visitor& visit) const;
  void resize_if_needed();
  void start_move(std::size_t buckets);
  void move_some();
  void move_bucket(entry*& bucket);
  void finish_move();

  clock now_;
  mutable std::int64_t moment_ = 0;  // 0: not asked for yet
  table tables_[2];                  // [1] only while entries move there from [0]
  std::size_t next_move_ = 0;        // the buckets of [0] before it are empty
  std::size_t used_memory_ = 0;
  std::uint64_t last_version_ = 0;
  struct view {
    std::size_t watchers = 0;
    std::uint64_t version = 0;  // when such a key was last created
  };
  std::map<std::string, view, std::less<>> in_view_;
  std::uint64_t expired_ = 0;
  std::set<expiry> by_expiry_;
};

}  // namespace kv
