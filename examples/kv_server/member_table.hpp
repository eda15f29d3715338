// A table from names to values that keeps its items in one array: what sets, hashes and sorted sets are made
// of. An item at random is as near as any other, which SPOP needs and std::unordered_map cannot give.
//
// Strings are swapped, never assigned to each other: a short one would keep the memory of a long one that was
// there before, and the account would not know.
//
// While it is small, items stay in the order in which they came, as in Redis's compact encodings; in a larger
// one the last item fills the gap that an erased one leaves.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "siphash.hpp"

namespace kv {

// One random key for all tables of the process.
const siphash_key& process_hash_key();

// Bytes that a string holds outside of itself.
inline std::size_t text_memory(const std::string& text) {
  constexpr std::size_t inside = 15;  // libstdc++ keeps that much without an allocation
  return text.capacity() <= inside ? 0 : text.capacity() + 1;
}

struct nothing {};

inline std::size_t content_memory(const std::string& text) {
  return text_memory(text);
}
inline std::size_t content_memory(double) {
  return 0;
}
inline std::size_t content_memory(nothing) {
  return 0;
}

template <class Value>
class member_table {
public:
  struct item {
    std::string name;
    std::uint32_t hash;
    [[no_unique_address]] Value content;
  };

  std::size_t size() const { return items_.size(); }
  const item& operator[](std::size_t position) const { return items_[position]; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  const Value* find(std::string_view name) const {
    const std::size_t found = position_of(name, hash_of(name));
    return found == none ? nullptr : &items_[found].content;
  }
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  // Gives a member its value; true: there was no such member. Throws std::bad_alloc, then nothing has
  // changed.
  bool set(std::string_view name, Value content) {
    const std::uint32_t hash = hash_of(name);
    if (const std::size_t found = position_of(name, hash); found != none) {
      Value& old = items_[found].content;
      texts_ += content_memory(content) - content_memory(old);
      std::swap(old, content);
      return false;
    }
    make_room();
    items_.push_back({std::string(name), hash, std::move(content)});
    texts_ += text_memory(items_.back().name) + content_memory(items_.back().content);
    if (!index_.empty()) {
      index_[free_slot(hash)] = static_cast<std::uint32_t>(items_.size());
    }
    return true;
  }

  bool erase(std::string_view name) {
    const std::size_t found = position_of(name, hash_of(name));
    if (found != none) {
      erase_at(found);
    }
    return found != none;
  }

  void erase_at(std::size_t position) {
    texts_ -= text_memory(items_[position].name) + content_memory(items_[position].content);
    if (items_.size() <= keeps_order) {
      for (std::size_t i = position; i + 1 < items_.size(); ++i) {
        std::swap(items_[i], items_[i + 1]);
      }
      items_.pop_back();
      rebuild(index_.size());
    } else {
      erase_by_swapping(position);
    }
    shrink();
  }

  std::size_t memory() const {
    return items_.capacity() * sizeof(item) + index_.capacity() * sizeof(std::uint32_t) + texts_;
  }

private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t without_index = 16;  // items that are looked through one by one
  static constexpr std::size_t keeps_order = 512;   // items, at most; the largest compact encoding of Redis

  static std::uint32_t hash_of(std::string_view name) {
    return static_cast<std::uint32_t>(siphash<1, 2>(process_hash_key())(name));
  }

  std::size_t position_of(std::string_view name, std::uint32_t hash) const {
    if (index_.empty()) {
      for (std::size_t i = 0; i < items_.size(); ++i) {
        if (items_[i].hash == hash && items_[i].name == name) {
          return i;
        }
      }
      return none;
    }
    const std::size_t mask = index_.size() - 1;
    for (std::size_t slot = hash & mask; index_[slot] != 0; slot = (slot + 1) & mask) {
      const item& one = items_[index_[slot] - 1];
      if (one.hash == hash && one.name == name) {
        return index_[slot] - 1;
      }
    }
    return none;
  }

  std::size_t free_slot(std::uint32_t hash) const {
    const std::size_t mask = index_.size() - 1;
    std::size_t slot = hash & mask;
    while (index_[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  std::size_t slot_of(std::size_t position) const {
    const std::size_t mask = index_.size() - 1;
    std::size_t slot = items_[position].hash & mask;
    while (index_[slot] != position + 1) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  // For one more item: in the array, and in an index that stays at most half full.
  void make_room() {
    if (items_.size() == items_.capacity()) {
      items_.reserve(items_.empty() ? 4 : items_.size() * 2);
    }
    if (items_.size() >= without_index && (items_.size() + 1) * 2 > index_.size()) {
      rebuild(std::bit_ceil((items_.size() + 1) * 4));
    }
  }

  void rebuild(std::size_t slots) {
    if (slots == 0) {
      return;
    }
    if (slots == index_.size()) {
      index_.assign(slots, 0);
    } else {
      index_ = std::vector<std::uint32_t>(slots);
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      index_[free_slot(items_[i].hash)] = static_cast<std::uint32_t>(i + 1);
    }
  }

  void erase_by_swapping(std::size_t position) {
    clear_slot(slot_of(position));
    const std::size_t last = items_.size() - 1;
    if (position != last) {
      index_[slot_of(last)] = static_cast<std::uint32_t>(position + 1);
      std::swap(items_[position], items_[last]);
    }
    items_.pop_back();
  }

  // Those behind the slot move up, if they may, so that no search ends too early.
  void clear_slot(std::size_t slot) {
    const std::size_t mask = index_.size() - 1;
    for (std::size_t next = (slot + 1) & mask; index_[next] != 0; next = (next + 1) & mask) {
      const std::size_t wanted = items_[index_[next] - 1].hash & mask;
      if (((next - wanted) & mask) >= ((next - slot) & mask)) {
        index_[slot] = index_[next];
        slot = next;
      }
    }
    index_[slot] = 0;
  }

  // Gives memory back when seven eighths of it are not needed; without memory to do so, it stays.
  void shrink() {
    if (items_.capacity() < 64 || items_.size() > items_.capacity() / 8) {
      return;
    }
    try {
      items_.shrink_to_fit();
      if (!index_.empty()) {
        rebuild(std::bit_ceil((items_.size() + 1) * 4));
      }
    } catch (const std::bad_alloc&) {
      return;
    }
  }

  std::vector<item> items_;
  std::vector<std::uint32_t> index_;  // open addressing: position + 1, 0: free; none at all while small
  std::size_t texts_ = 0;             // what names and values hold outside of the items
};

}  // namespace kv
