// The collections' operations, and their memory accounts.
#include "value.hpp"

#include <algorithm>

namespace kv {

void assign_text(std::string& to, std::string_view text) {
  if (to.capacity() > 64 && to.capacity() / 2 > text.size()) {
    std::string(text).swap(to);
  } else {
    to.assign(text);
  }
}

const std::string& list_value::push(list_end end, std::string_view text) {
  const std::string& pushed = end == list_end::left ? items_.emplace_front(text) : items_.emplace_back(text);
  texts_ += text_memory(pushed);
  return pushed;
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

bool set_value::add(std::string_view member) {
  const auto [place, added] = members_.insert(std::string(member));
  if (added) {
    texts_ += text_memory(*place);
  }
  return added;
}

bool set_value::erase(const std::string& member) {
  const auto found = members_.find(member);
  if (found == members_.end()) {
    return false;
  }
  texts_ -= text_memory(*found);
  members_.erase(found);
  return true;
}

const std::string* hash_value::find(std::string_view field) const {
  const auto found = fields_.find(field);
  return found == fields_.end() ? nullptr : &found->second;
}

bool hash_value::set(std::string_view field, std::string_view text) {
  const auto found = fields_.find(field);
  if (found != fields_.end()) {
    texts_ -= text_memory(found->second);
    assign_text(found->second, text);
    texts_ += text_memory(found->second);
    return false;
  }
  const auto added = fields_.emplace(field, text).first;
  texts_ += text_memory(added->first) + text_memory(added->second);
  return true;
}

void hash_value::drop_one() {
  const auto first = fields_.begin();
  texts_ -= text_memory(first->first) + text_memory(first->second);
  fields_.erase(first);
}

// If memory runs out nothing has changed.
sorted_set_value::placed sorted_set_value::set(std::string_view member, double score) {
  const auto old = scores_.lower_bound(member);
  const bool is_new = old == scores_.end() || old->first != member;
  if (!is_new && old->second == score) {
    return placed::already;
  }
  const auto place = order_.insert({score, std::string(member)}).first;
  texts_ += text_memory(place->second);
  if (!is_new) {
    const auto moved = order_.find({old->second, std::string(member)});
    texts_ -= text_memory(moved->second);
    order_.erase(moved);
    old->second = score;
    return placed::moved;
  }
  try {
    texts_ += text_memory(scores_.emplace_hint(old, member, score)->first);
  } catch (const std::bad_alloc&) {
    texts_ -= text_memory(place->second);
    order_.erase(place);
    throw;
  }
  return placed::added;
}

void sorted_set_value::drop_one() {
  const auto gone = order_.begin();
  const auto scored = scores_.find(gone->second);
  texts_ -= text_memory(gone->second) + text_memory(scored->first);
  scores_.erase(scored);
  order_.erase(gone);
}

namespace {

// Calls `use` with a collection; a string gives `of_string`.
template <class Value, class Use>
std::size_t with_collection(Value& one, std::size_t of_string, Use use) {
  const auto visit = [&](auto& held) -> std::size_t {
    if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>) {
      return of_string;
    } else {
      return use(*held);
    }
  };
  return std::visit(visit, one);
}

}  // namespace

std::size_t size_of(const any_value& one) {
  return with_collection(one, 1, [](const auto& held) { return held.size(); });
}

std::size_t memory_of(const any_value& one) {
  const auto* text = std::get_if<std::string>(&one);
  return text != nullptr ? text_memory(*text)
                         : with_collection(one, 0, [](const auto& held) { return held.memory(); });
}

bool drop_one(any_value& one) {
  return with_collection(one, 0, [](auto& held) {
           if (held.size() != 0) {
             held.drop_one();
           }
           return held.size();
         }) != 0;
}

}  // namespace kv
