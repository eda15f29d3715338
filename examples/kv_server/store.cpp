// The store's table: looking up, changing, and growing and shrinking in small steps.
#include "store.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "randomness.hpp"

namespace kv {

namespace {

constexpr std::size_t smallest_table = 16;
constexpr std::size_t buckets_per_step = 8;    // passed over at most by one operation, empty or not
constexpr std::size_t entries_per_step = 2;    // moved at least, unless buckets run out
constexpr std::size_t destroyed_at_once = 64;  // elements of a value that are not worth a second visit

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

const siphash_key& process_hash_key() {
  static const siphash_key key = random_hash_key();
  return key;
}

store::table store::make_table(std::size_t buckets) {
  table made;
  // calloc: a big table is pages the kernel clears when they are first touched.
  made.buckets.reset(static_cast<entry**>(std::calloc(buckets, sizeof(entry*))));
  if (made.buckets == nullptr) {
    throw std::bad_alloc();
  }
  made.count = buckets;
  return made;
}

store::entry* store::make_entry(std::string_view key, std::uint64_t hash, any_value&& content) {
  void* memory = std::malloc(sizeof(entry) + key.size());
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  auto* made = new (memory) entry{0, nullptr, hash, std::move(content), key.size()};
  std::memcpy(static_cast<void*>(made + 1), key.data(), key.size());
  return made;
}

void store::destroy(entry* gone) {
  gone->~entry();
  std::free(gone);
}

void store::destroy_all(table& gone) {
  for (std::size_t i = 0; i < gone.count; ++i) {
    while (entry* first = gone.buckets[i]) {
      gone.buckets[i] = first->next;
      destroy(first);
    }
  }
}

store::store() {
  tables_[0] = make_table(smallest_table);
  used_memory_ = tables_[0].memory();
}

store::~store() {
  destroy_all(tables_[0]);
  destroy_all(tables_[1]);
  for (cleared_table& each : cleared_) {
    destroy_all(each.held);
  }
}

void store::clear() {
  table empty = make_table(smallest_table);
  cleared_.reserve(cleared_.size() + 2);
  for (table& each : tables_) {
    if (each.count != 0) {
      cleared_.push_back({std::exchange(each, table{})});
    }
  }
  used_memory_ += empty.memory();
  tables_[0] = std::move(empty);
}

// Without memory to remember the value it is destroyed at once.
void store::discard(any_value&& content) {
  if (size_of(content) <= destroyed_at_once) {
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
  if (removed_.empty()) {
    return !cleared_.empty() && destroy_some_cleared(most);
  }
  any_value& last = removed_.back();
  const std::size_t before = memory_of(last);
  const std::size_t left = destroy_some(last, most);
  used_memory_ -= before - (left == 0 ? 0 : memory_of(last));
  if (left == 0) {
    removed_.pop_back();
  }
  return !removed_.empty() || !cleared_.empty();
}

bool store::destroy_some_cleared(std::size_t most) {
  cleared_table& last = cleared_.back();
  for (; most != 0 && last.next != last.held.count; --most) {
    entry*& bucket = last.held.buckets[last.next];
    if (entry* gone = bucket) {
      bucket = gone->next;
      used_memory_ -= gone->memory();
      discard(std::move(gone->content));
      destroy(gone);
    } else {
      ++last.next;
    }
  }
  if (last.next == last.held.count) {
    used_memory_ -= last.held.memory();
    cleared_.pop_back();
  }
  return !removed_.empty() || !cleared_.empty();
}

store::place store::locate(std::string_view key, std::uint64_t hash) {
  for (table& each : tables_) {
    for (entry** link = each.bucket(hash); *link != nullptr; link = &(*link)->next) {
      if ((*link)->hash == hash && (*link)->key() == key) {
        return {&each, link};
      }
    }
    if (!is_moving()) {
      break;
    }
  }
  return {nullptr, nullptr};
}

store::entry* store::find_entry(std::string_view key, std::uint64_t hash) {
  move_some();
  const place found = locate(key, hash);
  if (found.link == nullptr) {
    return nullptr;
  }
  return *found.link;
}

const any_value* store::find(std::string_view key) {
  const entry* found = find_entry(key);
  return found == nullptr ? nullptr : &found->content;
}

void store::set(std::string_view key, std::string_view text) {
  const std::uint64_t hash = hash_of(key);
  entry* found = find_entry(key, hash);
  if (found == nullptr) {
    insert(key, hash, std::string(text));
    return;
  }
  const std::size_t before = memory_of(found->content);
  if (auto* old = get_as<std::string>(found->content)) {
    assign_text(*old, text);
  } else {
    any_value old_content = std::exchange(found->content, std::string(text));
    discard(std::move(old_content));
  }
  used_memory_ += memory_of(found->content) - before;
  found->version = ++last_version_;
}

store::entry* store::insert(std::string_view key, std::uint64_t hash, any_value&& content) {
  entry* made = make_entry(key, hash, std::move(content));
  table& into = tables_[is_moving() ? 1 : 0];
  entry** bucket = into.bucket(hash);
  made->next = *bucket;
  *bucket = made;
  made->version = ++last_version_;
  if (!in_view_.empty()) [[unlikely]] {
    if (const auto seen = in_view_.find(key); seen != in_view_.end()) {
      seen->second.version = made->version;
    }
  }
  ++into.used;
  used_memory_ += made->memory();
  resize_if_needed();
  return made;
}

bool store::erase(std::string_view key) {
  entry* found = find_entry(key);
  if (found != nullptr) {
    remove(*found);
  }
  return found != nullptr;
}

void store::remove(const place& found) {
  entry* gone = *found.link;
  *found.link = gone->next;
  --found.in->used;
  used_memory_ -= gone->memory();
  discard(std::move(gone->content));
  destroy(gone);
  resize_if_needed();
}

void store::remove(entry& gone) {
  for (table& each : tables_) {
    for (entry** link = each.count == 0 ? nullptr : each.bucket(gone.hash);
         link != nullptr && *link != nullptr; link = &(*link)->next) {
      if (*link == &gone) {
        remove(place{&each, link});
        return;
      }
    }
  }
}

store::edit::edit(store& keys, std::string_view key) : keys_(keys), key_(key), entry_(keys.find_entry(key)) {
  if (entry_ != nullptr) {
    before_ = memory_of(entry_->content);
  }
}

store::edit::~edit() {
  if (entry_ == nullptr) {
    return;
  }
  keys_.used_memory_ += memory_of(entry_->content) - before_;
  if (changed_) {
    entry_->version = ++keys_.last_version_;
  }
  if (size_of(entry_->content) == 0) {
    keys_.remove(*entry_);
  }
}

any_value* store::edit::get() const {
  return entry_ == nullptr ? nullptr : &entry_->content;
}

any_value& store::edit::create(any_value&& content) {
  entry_ = keys_.insert(key_, keys_.hash_of(key_), std::move(content));
  before_ = memory_of(entry_->content);
  return entry_->content;
}

std::uint64_t store::version(std::string_view key) {
  if (const entry* found = find_entry(key)) {
    return found->version;
  }
  const auto seen = in_view_.find(key);
  return seen == in_view_.end() ? 0 : seen->second.version;
}

void store::keep_in_view(std::string_view key) {
  ++in_view_[std::string(key)].watchers;
}

void store::lose_from_view(std::string_view key) {
  const auto seen = in_view_.find(key);
  if (seen != in_view_.end() && --seen->second.watchers == 0) {
    in_view_.erase(seen);
  }
}

// Between 1/8 and 1 entry per bucket, and half full after a resize.
void store::resize_if_needed() {
  if (is_moving()) {
    return;
  }
  const std::size_t buckets = tables_[0].count;
  if (size() > buckets || (buckets > smallest_table && size() < buckets / 8)) {
    start_move(std::max(smallest_table, std::bit_ceil(size() * 2)));
  }
}

// Without memory for a new table the old one serves on, with longer chains.
void store::start_move(std::size_t buckets) {
  const std::size_t bytes = buckets * sizeof(entry*);
  if (memory_limit_ != 0 && buckets > tables_[0].count && used_memory_ + bytes > memory_limit_) {
    return;
  }
  try {
    tables_[1] = make_table(buckets);
  } catch (const std::bad_alloc&) {
    return;
  }
  used_memory_ += tables_[1].memory();
  next_move_ = 0;
}

void store::move_some() {
  if (!is_moving()) {
    return;
  }
  const std::size_t enough = tables_[1].used + entries_per_step;
  for (std::size_t step = 0; step < buckets_per_step && tables_[1].used < enough; ++step) {
    if (next_move_ == tables_[0].count) {
      finish_move();
      return;
    }
    move_bucket(tables_[0].buckets[next_move_++]);
  }
}

void store::move_bucket(entry*& bucket) {
  while (entry* moved = bucket) {
    bucket = moved->next;
    entry** to = tables_[1].bucket(moved->hash);
    moved->next = *to;
    *to = moved;
    --tables_[0].used;
    ++tables_[1].used;
  }
}

void store::finish_move() {
  used_memory_ -= tables_[0].memory();
  tables_[0] = std::move(tables_[1]);
  tables_[1] = table{};
  resize_if_needed();
}

void store::visit_bucket(const entry* first, const visitor& visit) const {
  for (const entry* each = first; each != nullptr; each = each->next) {
    visit(each->key(), each->content);
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

}  // namespace kv
