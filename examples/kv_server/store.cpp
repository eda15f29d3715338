// The store: looking up, changing, watching, and the destruction of what was removed.
#include "store.hpp"

#include <algorithm>
#include <new>

#include "siphash.hpp"

namespace kv {

namespace {

constexpr std::size_t most_elements_at_once = 8, most_bytes_at_once = 4096;  // of a value that is removed

bool is_long(const any_value& content) {
  const auto* held = get_as<stored_text>(content);
  return held != nullptr && held->capacity() > most_bytes_at_once;
}

}  // namespace

store::hashed store::hash(std::string_view key) {
  static const siphash_key secret = random_hash_key();
  return {key, siphash<1, 2>(secret, key)};
}

store::~store() {
  clear();
  while (destroy_garbage(SIZE_MAX)) {
  }
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
  } else if (last.back().empty()) {
    last.pop_back();
  } else {
    const auto first = last.back().begin();
    discard(std::move(first->second));
    last.back().erase(first);
  }
}

any_value* store::find(std::string_view key) {
  const hashed wanted = hash(key);
  const auto found = shard_of(wanted).find(wanted);
  return found == shard_of(wanted).end() ? nullptr : &found->second;
}

void store::set(std::string_view key, std::string_view content) {
  const hashed wanted = hash(key);
  const auto found = shard_of(wanted).find(wanted);
  if (found == shard_of(wanted).end()) {
    insert(wanted, stored_text(content));
    return;
  }
  any_value& old = found->second;
  if (auto* held = get_as<stored_text>(old); held != nullptr && held->capacity() <= most_bytes_at_once) {
    assign_text(*held, content);
  } else {
    any_value made = stored_text(content);
    old.swap(made);
    discard(std::move(made));
  }
  touch(key);
}

any_value& store::create(std::string_view key, any_value&& content) {
  return insert(hash(key), std::move(content));
}

any_value& store::insert(const hashed& wanted, any_value&& content) {
  shard& into = shard_of(wanted);
  const std::size_t growth = 2 * into.bucket_count() * sizeof(void*);
  const bool has_room = memory_limit_ == 0 || memory_in_use + growth <= memory_limit_;
  into.max_load_factor(has_room ? 1.0F : 1e9F);
  any_value& made = into.emplace(stored_text(wanted.key), std::move(content)).first->second;
  ++size_;
  touch(wanted.key);
  return made;
}

bool store::erase(std::string_view key) {
  const hashed wanted = hash(key);
  shard& from = shard_of(wanted);
  const auto found = from.find(wanted);
  if (found == from.end()) {
    return false;
  }
  discard(std::move(found->second));
  from.erase(found);
  --size_;
  if (from.empty()) {
    shard().swap(from);  // frees its buckets
  }
  touch(key);
  return true;
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
