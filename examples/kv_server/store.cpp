// The store's table: looking up, changing, and growing and shrinking a shard at a time.
#include "store.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "siphash.hpp"

namespace kv {

namespace {

constexpr std::size_t smallest_table = 4;
constexpr std::size_t most_elements_at_once = 8, most_bytes_at_once = 4096;  // of a value that is removed

bool is_long(const any_value& content) {
  const auto* held = get_as<stored_text>(content);
  return held != nullptr && held->capacity() > most_bytes_at_once;
}

}  // namespace

std::uint64_t store::hash_of(std::string_view key) {
  static const siphash_key secret = random_hash_key();
  return siphash<1, 2>(secret, key);
}

store::~store() {
  clear();
  while (destroy_garbage(SIZE_MAX)) {
  }
}

void store::destroy(entry* gone) {
  discard(std::move(gone->content));
  const std::size_t size = sizeof(entry) + gone->key_size;
  gone->~entry();
  counting_allocator<char>().deallocate(reinterpret_cast<char*>(gone), size);
}

void store::clear() {
  table empty(shard_count);
  cleared_.insert(cleared_.begin(), std::move(empty));  // the last one may be half destroyed
  cleared_.front().swap(shards_);
  size_ = 0;
  ++epoch_;
}

// Without memory to remember the value it is destroyed at once.
void store::discard(any_value&& content) {
  if (size_of(content) > most_elements_at_once || is_long(content)) {
    try {
      removed_.push_back(std::move(content));
    } catch (const std::bad_alloc&) {
    }
  }
}

bool store::destroy_garbage(std::size_t most) {
  while (most != 0 && (!removed_.empty() || !cleared_.empty())) {
    const std::size_t before = memory_in_use;
    if (removed_.empty()) {
      destroy_cleared_entry();
    } else if (!drop_one(removed_.back())) {
      removed_.pop_back();
    }
    most -= std::min(most, 1 + (before - memory_in_use) / most_bytes_at_once);
  }
  return !removed_.empty() || !cleared_.empty();
}

void store::destroy_cleared_entry() {
  table& last = cleared_.back();
  if (last.empty()) {
    cleared_.pop_back();
  } else if (auto& buckets = last.back().buckets; buckets.empty()) {
    last.pop_back();
  } else if (entry* gone = buckets.back()) {
    buckets.back() = gone->next;
    destroy(gone);
  } else {
    buckets.pop_back();
  }
}

store::entry** store::locate(std::string_view key, std::uint64_t hash) const {
  auto& buckets = const_cast<shard&>(shards_[hash >> 52]).buckets;
  if (buckets.empty()) {
    return nullptr;
  }
  entry** link = &buckets[hash & (buckets.size() - 1)];
  while (*link != nullptr && ((*link)->hash != hash || (*link)->key() != key)) {
    link = &(*link)->next;
  }
  return *link == nullptr ? nullptr : link;
}

any_value* store::find_value(std::string_view key) const {
  entry** found = locate(key, hash_of(key));
  return found == nullptr ? nullptr : &(*found)->content;
}

void store::set(std::string_view key, std::string_view content) {
  const std::uint64_t hash = hash_of(key);
  entry** found = locate(key, hash);
  if (found == nullptr) {
    insert(key, hash, stored_text(content));
    return;
  }
  any_value& old = (*found)->content;
  if (auto* held = get_as<stored_text>(old); held != nullptr && held->capacity() <= most_bytes_at_once) {
    assign_text(*held, content);
  } else {
    discard(std::exchange(old, stored_text(content)));
  }
  touch(key);
}

any_value& store::create(std::string_view key, any_value&& content) {
  return insert(key, hash_of(key), std::move(content))->content;
}

store::entry* store::insert(std::string_view key, std::uint64_t hash, any_value&& content) {
  shard& into = shards_[hash >> 52];
  const std::size_t count = into.buckets.size();
  const bool has_room = memory_limit_ == 0 || memory_in_use + count * sizeof(entry*) <= memory_limit_;
  if (count == 0 || (into.used == count && has_room)) {
    resize(into, std::max(count * 2, smallest_table));
  }
  void* memory = counting_allocator<char>().allocate(sizeof(entry) + key.size());
  entry*& bucket = into.buckets[hash & (into.buckets.size() - 1)];
  bucket = new (memory) entry{bucket, hash, std::move(content), key.size()};
  std::memcpy(static_cast<void*>(bucket + 1), key.data(), key.size());
  ++into.used;
  ++size_;
  touch(key);
  return bucket;
}

bool store::erase(std::string_view key) {
  const std::uint64_t hash = hash_of(key);
  entry** found = locate(key, hash);
  if (found == nullptr) {
    return false;
  }
  destroy(std::exchange(*found, (*found)->next));
  shard& from = shards_[hash >> 52];
  --from.used;
  --size_;
  if (from.used == 0 || (from.used < from.buckets.size() / 8 && from.buckets.size() > smallest_table)) {
    resize(from, from.used == 0 ? 0 : from.buckets.size() / 2);
  }
  touch(key);
  return true;
}

// Without memory for a larger table the old one serves on, with longer chains.
void store::resize(shard& one, std::size_t count) {
  decltype(one.buckets) old;
  try {
    old = decltype(old)(count);
  } catch (const std::bad_alloc&) {
    if (one.buckets.empty()) {
      throw;
    }
    return;
  }
  old.swap(one.buckets);
  for (entry* each : old) {
    while (each != nullptr) {
      entry*& to = one.buckets[each->hash & (count - 1)];
      entry* const next = std::exchange(each->next, to);
      to = std::exchange(each, next);
    }
  }
}

void store::touch(std::string_view key) {
  if (!watched_.empty()) [[unlikely]] {
    if (const auto found = watched_.find(key); found != watched_.end()) {
      for (bool* flag : found->second) {
        *flag = true;
      }
    }
  }
}

void store::unwatch(std::string_view key, bool& changed) {
  const auto found = watched_.find(key);
  if (found != watched_.end() && found->second.erase(&changed) != 0 && found->second.empty()) {
    watched_.erase(found);
  }
}

}  // namespace kv
