// The store's times to live, and its walks over all keys.
#include "randomness.hpp"
#include "store.hpp"

namespace kv {

namespace {

// Cursors count in the bits reversed, highest first: when a table has doubled or halved in between, the
// buckets that are done are still done. (Pieter Noordhuis, in Redis.)
std::uint64_t reverse_bits(std::uint64_t word) {
  std::uint64_t reversed = 0;
  for (int i = 0; i < 64; ++i) {
    reversed = reversed << 1 | (word >> i & 1);
  }
  return reversed;
}

std::uint64_t next_cursor(std::uint64_t cursor, std::uint64_t mask) {
  return reverse_bits(reverse_bits(cursor | ~mask) + 1);
}

}  // namespace

std::int64_t store::expires_at(std::string_view key) {
  const entry* found = find_entry(key);
  return found == nullptr ? 0 : found->expires_at;
}

void store::expire_at(std::string_view key, std::int64_t when) {
  if (entry* found = find_entry(key)) {
    change_expiry(*found, when);
    found->version = ++last_version_;
  }
}

void store::change_expiry(entry& one, std::int64_t when) {
  if (when != 0) {
    used_memory_ += by_expiry_.emplace(when, &one).second ? expiry_memory : 0;
  }
  if (one.expires_at != 0 && one.expires_at != when) {
    by_expiry_.erase({one.expires_at, &one});
    used_memory_ -= expiry_memory;
  }
  one.expires_at = when;
}

std::size_t store::expire_some(std::size_t most) {
  std::size_t removed = 0;
  go_on_in_time();
  while (removed < most && !by_expiry_.empty() && by_expiry_.begin()->first < now()) {
    remove(*by_expiry_.begin()->second);
    move_some();
    ++removed;
  }
  expired_ += removed;
  return removed;
}

void store::visit_bucket(const entry* first, const visitor& visit) const {
  for (const entry* each = first; each != nullptr; each = each->next) {
    if (!is_over(*each)) {
      visit(each->key(), each->content);
    }
  }
}

// While entries move: a bucket of the smaller table, and all those of the larger that it is divided into.
std::uint64_t store::scan(std::uint64_t cursor, const visitor& visit) const {
  const table* small = &tables_[0];
  const table* large = &tables_[1];
  if (!is_moving()) {
    visit_bucket(*small->bucket(cursor), visit);
    return next_cursor(cursor, small->count - 1);
  }
  if (small->count > large->count) {
    std::swap(small, large);
  }
  visit_bucket(*small->bucket(cursor), visit);
  do {
    visit_bucket(*large->bucket(cursor), visit);
    cursor = next_cursor(cursor, large->count - 1);
  } while ((cursor & ((small->count - 1) ^ (large->count - 1))) != 0);
  return cursor;
}

void store::for_each(const visitor& visit) const {
  for (const table& each : tables_) {
    for (std::size_t i = 0; i < each.count; ++i) {
      visit_bucket(each.buckets[i], visit);
    }
  }
}

// A random bucket that is not empty, and one of its few entries.
std::optional<std::string_view> store::random_key() {
  while (size() != 0) {
    const std::size_t bucket = random_below(tables_[0].count + tables_[1].count);
    const bool in_first = bucket < tables_[0].count;
    entry* chosen = in_first ? tables_[0].buckets[bucket] : tables_[1].buckets[bucket - tables_[0].count];
    std::size_t length = 0;
    for (const entry* each = chosen; each != nullptr; each = each->next) {
      ++length;
    }
    for (std::size_t skipped = length == 0 ? 0 : random_below(length); skipped != 0; --skipped) {
      chosen = chosen->next;
    }
    if (chosen != nullptr && is_over(*chosen)) {
      ++expired_;
      remove(*chosen);
    } else if (chosen != nullptr) {
      return chosen->key();
    }
  }
  return std::nullopt;
}

}  // namespace kv
