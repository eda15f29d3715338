// The store's table: looking up, and growing and shrinking in small steps.
#include "store.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <random>

namespace kv {

namespace {

constexpr std::size_t smallest_table = 16;
constexpr std::size_t buckets_per_step = 8;  // passed over at most by one operation, empty or not
constexpr std::size_t entries_per_step = 2;  // moved at least, unless buckets run out

siphash_key random_key() {
  std::random_device device;
  const auto word = [&] { return std::uint64_t{device()} << 32 | device(); };
  const std::uint64_t low = word();
  return {low, word()};
}

std::size_t text_memory(const std::string& text) {
  static const std::size_t inside = std::string().capacity();  // kept without an allocation
  return text.capacity() <= inside ? 0 : text.capacity() + 1;
}

// Gives back the room that a much shorter value would keep.
void assign(std::string& to, std::string_view text) {
  if (to.capacity() > 64 && to.capacity() / 2 > text.size()) {
    std::string(text).swap(to);
  } else {
    to.assign(text);
  }
}

}  // namespace

std::size_t store::entry::memory() const {
  return sizeof(entry) + key_size + text_memory(text);
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

store::entry* store::make_entry(std::string_view key, std::uint64_t hash, std::string_view text) {
  void* memory = std::malloc(sizeof(entry) + key.size());
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  std::unique_ptr<void, free_memory> guard(memory);
  auto* made = new (memory) entry{nullptr, hash, value(text), key.size()};
  std::memcpy(static_cast<void*>(made + 1), key.data(), key.size());
  guard.release();
  return made;
}

void store::destroy(entry* gone) {
  gone->~entry();
  std::free(gone);
}

store::store() : hash_key_(random_key()) {
  tables_[0] = make_table(smallest_table);
  used_memory_ = tables_[0].memory();
}

store::~store() {
  for (const table& each : tables_) {
    for (std::size_t i = 0; i < each.count; ++i) {
      while (entry* gone = each.buckets[i]) {
        each.buckets[i] = gone->next;
        destroy(gone);
      }
    }
  }
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

const store::value* store::find(std::string_view key) {
  move_some();
  const place found = locate(key, hash_of(key));
  return found.link == nullptr ? nullptr : &(*found.link)->text;
}

void store::set(std::string_view key, std::string_view text) {
  move_some();
  const std::uint64_t hash = hash_of(key);
  if (const place found = locate(key, hash); found.link != nullptr) {
    value& old = (*found.link)->text;
    const std::size_t before = text_memory(old);
    assign(old, text);
    used_memory_ += text_memory(old) - before;
    return;
  }
  entry* made = make_entry(key, hash, text);
  table& into = tables_[is_moving() ? 1 : 0];
  entry** bucket = into.bucket(hash);
  made->next = *bucket;
  *bucket = made;
  ++into.used;
  used_memory_ += made->memory();
  resize_if_needed();
}

bool store::erase(std::string_view key) {
  move_some();
  const place found = locate(key, hash_of(key));
  if (found.link == nullptr) {
    return false;
  }
  entry* gone = *found.link;
  *found.link = gone->next;
  --found.in->used;
  used_memory_ -= gone->memory();
  destroy(gone);
  resize_if_needed();
  return true;
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

}  // namespace kv
