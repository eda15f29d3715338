// The collections' operations that do more than pass on to their container.
#include "value.hpp"

#include <algorithm>

#include "integer.hpp"
#include "randomness.hpp"

namespace kv {

const siphash_key& process_hash_key() {
  static const siphash_key key = random_hash_key();
  return key;
}

void assign_text(std::string& to, std::string_view text) {
  if (to.capacity() > 64 && to.capacity() / 2 > text.size()) {
    std::string(text).swap(to);
  } else {
    to.assign(text);
  }
}

void list_value::push(list_end end, std::string_view text) {
  const std::string& pushed = end == list_end::left ? items_.emplace_front(text) : items_.emplace_back(text);
  texts_ += text_memory(pushed);
}

std::string list_value::pop(list_end end) {
  std::string& popped = end == list_end::left ? items_.front() : items_.back();
  texts_ -= text_memory(popped);
  std::string text = std::move(popped);
  if (end == list_end::left) {
    items_.pop_front();
  } else {
    items_.pop_back();
  }
  return text;
}

void list_value::assign(std::size_t index, std::string_view text) {
  std::string changed(text);
  texts_ += text_memory(changed) - text_memory(items_[index]);
  items_[index].swap(changed);
}

void list_value::insert(std::size_t index, std::string_view text) {
  texts_ += text_memory(*items_.emplace(items_.begin() + static_cast<std::ptrdiff_t>(index), text));
}

void list_value::keep(std::size_t first, std::size_t count) {
  const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  const auto forget = [this](const std::string& text) { texts_ -= text_memory(text); };
  std::for_each(items_.begin(), begin, forget);
  std::for_each(end, items_.end(), forget);
  items_.erase(end, items_.end());
  items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first));
}

// By swapping, as in member_table.hpp. What is erased gathers at the other end.
std::size_t list_value::erase_equal(std::string_view text, std::size_t most, list_end from) {
  const std::size_t size = items_.size();
  const auto item = [&](std::size_t i) -> std::string& {
    return items_[from == list_end::left ? i : size - 1 - i];
  };
  std::size_t erased = 0;
  for (std::size_t i = 0; i < size && (erased != 0 || most != 0); ++i) {
    if (erased < most && item(i) == text) {
      ++erased;
    } else if (erased != 0) {
      item(i).swap(item(i - erased));
    }
  }
  for (std::size_t i = 0; i < erased; ++i) {
    pop(from == list_end::left ? list_end::right : list_end::left);
  }
  return erased;
}

bool set_value::add(std::string_view member) {
  if (!members_.set(member, {})) {
    return false;
  }
  integers_ = integers_ && members_.size() <= most_integers && parse_integer(member).has_value();
  return true;
}

bool sorted_set_value::set(std::string_view member, double score) {
  const double* old = scores_.find(member);
  if (old != nullptr && *old == score) {
    return false;
  }
  const auto placed = order_.insert({score, std::string(member)}).first;
  texts_ += text_memory(placed->second);
  if (old != nullptr) {
    const auto moved = order_.find({*old, std::string(member)});
    texts_ -= text_memory(moved->second);
    order_.erase(moved);
  }
  try {
    return scores_.set(member, score);
  } catch (const std::bad_alloc&) {  // only a new member needs memory
    texts_ -= text_memory(placed->second);
    order_.erase(placed);
    throw;
  }
}

bool sorted_set_value::erase(std::string_view member) {
  const double* old = scores_.find(member);
  if (old == nullptr) {
    return false;
  }
  const auto gone = order_.find({*old, std::string(member)});
  texts_ -= text_memory(gone->second);
  order_.erase(gone);
  scores_.erase(member);
  return true;
}

void sorted_set_value::erase(std::size_t rank) {
  const auto gone = order_.find_by_order(rank);
  scores_.erase(gone->second);
  texts_ -= text_memory(gone->second);
  order_.erase(gone);
}

namespace {

template <class Type>
std::size_t collection_memory(const Type& held) {
  if constexpr (std::is_same_v<Type, std::string>) {
    return text_memory(held);
  } else {
    return held->memory();
  }
}

template <class Type>
bool is_empty(const Type& held) {
  if constexpr (std::is_same_v<Type, std::string>) {
    return false;
  } else {
    return held->size() == 0;
  }
}

}  // namespace

std::size_t memory_of(const any_value& one) {
  return std::visit([](const auto& held) { return collection_memory(held); }, one);
}

bool is_empty_collection(const any_value& one) {
  return std::visit([](const auto& held) { return is_empty(held); }, one);
}

std::string_view type_name(const any_value& one) {
  static constexpr std::string_view names[] = {"string", "list", "set", "hash", "zset"};
  return names[one.index()];
}

}  // namespace kv
