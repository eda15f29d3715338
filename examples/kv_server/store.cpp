// The store's table: looking up, changing, and growing and shrinking a shard at a time.
#include "store.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "randomness.hpp"
#include "siphash.hpp"

namespace kv {

namespace {

constexpr std::size_t smallest_table = 4;
constexpr std::size_t most_elements_at_once = 8, most_bytes_at_once = 4096;  // of a value that is removed

}  // namespace

std::uint64_t store::hash_of(std::string_view key) {
  static const siphash_key secret = random_hash_key();
  return siphash<1, 2>(secret, key);
}

store::store() : shards_(std::make_unique<shard[]>(shard_count)) {}

store::~store() {
  clear();
  while (destroy_garbage(SIZE_MAX)) {
  }
}

void store::destroy(entry* gone) {
  gone->~entry();
  std::free(gone);
}

void store::clear() {
  ++epoch_;
  auto empty = std::make_unique<shard[]>(shard_count);
  cleared_.insert(cleared_.begin(), nullptr);  // the last one may be half destroyed
  cleared_.front() = std::exchange(shards_, std::move(empty));
  used_memory_ += shard_count * sizeof(shard);
  size_ = 0;
}

// Without memory to remember the value it is destroyed at once.
void store::discard(any_value&& content) {
  if (size_of(content) <= most_elements_at_once && memory_of(content) <= most_bytes_at_once) {
    return;
  }
  try {
    removed_.push_back(std::move(content));
  } catch (const std::bad_alloc&) {
    return;
  }
  used_memory_ += memory_of(removed_.back());
}

bool store::destroy_garbage(std::size_t most) {
  while (most != 0 && (!removed_.empty() || !cleared_.empty())) {
    const std::size_t before = used_memory_;
    removed_.empty() ? destroy_cleared_entry() : destroy_removed_element();
    most -= std::min(most, 1 + (before - used_memory_) / most_bytes_at_once);
  }
  return !removed_.empty() || !cleared_.empty();
}

void store::destroy_removed_element() {
  any_value& last = removed_.back();
  const std::size_t before = memory_of(last);
  const bool is_more = drop_one(last);
  used_memory_ -= before - (is_more ? memory_of(last) : 0);
  if (!is_more) {
    removed_.pop_back();
  }
}

void store::destroy_cleared_entry() {
  if (next_cleared_ == shard_count) {
    cleared_.pop_back();
    used_memory_ -= shard_count * sizeof(shard);
    next_cleared_ = 0;
    return;
  }
  shard& one = cleared_.back()[next_cleared_];
  if (one.count == 0) {
    std::free(std::exchange(one.buckets, nullptr));
    ++next_cleared_;
  } else if (entry* gone = one.buckets[one.count - 1]) {
    one.buckets[one.count - 1] = gone->next;
    used_memory_ -= gone->memory();
    discard(std::move(gone->content));
    destroy(gone);
  } else {
    --one.count;
    used_memory_ -= sizeof(entry*);
  }
}

store::entry** store::locate(std::string_view key, std::uint64_t hash) const {
  const shard& one = shard_of(hash);
  if (one.count == 0) {
    return nullptr;
  }
  entry** link = &one.buckets[hash & (one.count - 1)];
  while (*link != nullptr && ((*link)->hash != hash || (*link)->key() != key)) {
    link = &(*link)->next;
  }
  return *link == nullptr ? nullptr : link;
}

const any_value* store::find(std::string_view key) const {
  entry** found = locate(key, hash_of(key));
  return found == nullptr ? nullptr : &(*found)->content;
}

void store::set(std::string_view key, std::string_view text) {
  const std::uint64_t hash = hash_of(key);
  entry** found = locate(key, hash);
  if (found == nullptr) {
    insert(key, hash, std::string(text));
    return;
  }
  any_value& content = (*found)->content;
  const std::size_t before = memory_of(content);
  if (auto* old = get_as<std::string>(content); old != nullptr && before <= most_bytes_at_once) {
    assign_text(*old, text);
  } else {
    discard(std::exchange(content, std::string(text)));
  }
  used_memory_ += memory_of(content) - before;
  touch(key);
}

void store::put(std::string_view key, any_value&& content) {
  erase(key);
  insert(key, hash_of(key), std::move(content));
}

store::entry* store::insert(std::string_view key, std::uint64_t hash, any_value&& content) {
  shard& into = shard_of(hash);
  const bool has_room = memory_limit_ == 0 || used_memory_ + into.count * sizeof(entry*) <= memory_limit_;
  if (into.count == 0 || (into.used == into.count && has_room)) {
    resize(into, std::max<std::size_t>(into.count * 2, smallest_table));
  }
  void* memory = std::malloc(sizeof(entry) + key.size());
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  entry*& bucket = into.buckets[hash & (into.count - 1)];
  bucket = new (memory) entry{bucket, hash, std::move(content), key.size()};
  std::memcpy(static_cast<void*>(bucket + 1), key.data(), key.size());
  ++into.used;
  ++size_;
  used_memory_ += bucket->memory();
  touch(key);
  return bucket;
}

bool store::erase(std::string_view key) {
  entry** found = locate(key, hash_of(key));
  if (found != nullptr) {
    remove(found);
    touch(key);
  }
  return found != nullptr;
}

void store::remove(entry** link) {
  entry* gone = *link;
  *link = gone->next;
  shard& from = shard_of(gone->hash);
  --from.used;
  --size_;
  used_memory_ -= gone->memory();
  discard(std::move(gone->content));
  destroy(gone);
  if (from.used == 0 || (from.used < from.count / 8 && from.count > smallest_table)) {
    resize(from, from.used == 0 ? 0 : from.count / 2);
  }
}

// Without memory for a larger table the old one serves on, with longer chains.
void store::resize(shard& one, std::size_t count) {
  auto** buckets = count == 0 ? nullptr : static_cast<entry**>(std::calloc(count, sizeof(entry*)));
  if (count != 0 && buckets == nullptr) {
    if (one.count == 0) {
      throw std::bad_alloc();
    }
    return;
  }
  for (std::size_t at = 0; at < one.count; ++at) {
    while (entry* moved = one.buckets[at]) {
      one.buckets[at] = moved->next;
      entry*& to = buckets[moved->hash & (count - 1)];
      moved->next = std::exchange(to, moved);
    }
  }
  std::free(std::exchange(one.buckets, buckets));
  used_memory_ += (count - one.count) * sizeof(entry*);
  one.count = static_cast<std::uint32_t>(count);
}

store::edit::edit(store& keys, std::string_view key) : keys_(keys), key_(key), entry_(nullptr) {
  if (entry** found = keys.locate(key, hash_of(key))) {
    entry_ = *found;
    before_ = memory_of(entry_->content);
  }
}

store::edit::~edit() {
  if (entry_ == nullptr) {
    return;
  }
  keys_.used_memory_ += memory_of(entry_->content) - before_;
  if (changed_) {
    keys_.touch(key_);
  }
  if (size_of(entry_->content) == 0) {
    keys_.remove(keys_.locate(key_, entry_->hash));
  }
}

any_value* store::edit::get() const {
  return entry_ == nullptr ? nullptr : &entry_->content;
}

any_value& store::edit::create(any_value&& content) {
  entry_ = keys_.insert(key_, hash_of(key_), std::move(content));
  before_ = memory_of(entry_->content);
  return entry_->content;
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
