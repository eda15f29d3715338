// Operations on values of any type, and sorted sets.
#include "value.hpp"

#include <new>

namespace kv {

void assign_text(stored_text& to, std::string_view from) {
  if (to.capacity() > 64 && to.capacity() / 2 > from.size()) {
    stored_text(from).swap(to);
  } else {
    to.assign(from);
  }
}

bool sorted_set_value::set(std::string_view member, double score) {
  const auto old = scores_.lower_bound(member);
  const bool is_new = old == scores_.end() || old->first != member;
  if (!is_new && old->second == score) {
    return false;
  }
  const auto place = order_.emplace(score, member).first;
  if (!is_new) {
    order_.erase(order_.find(position(old->second, member)));
    old->second = score;
    return true;
  }
  try {
    scores_.emplace_hint(old, member, score);
  } catch (const std::bad_alloc&) {
    order_.erase(place);
    throw;
  }
  return true;
}

void sorted_set_value::drop_first() {
  scores_.erase(order_.begin()->second);
  order_.erase(order_.begin());
}

std::size_t size_of(const any_value& one) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, stored_text>) {
          return std::size_t{1};
        } else {
          return held->size();
        }
      },
      one);
}

bool drop_one(any_value& one) {
  if (auto* list = get_as<list_value>(one)) {
    list->pop_back();
  } else if (auto* set = get_as<set_value>(one)) {
    set->erase(set->begin());
  } else if (auto* hash = get_as<hash_value>(one)) {
    hash->erase(hash->begin());
  } else if (auto* sorted = get_as<sorted_set_value>(one)) {
    sorted->drop_first();
  } else {
    return false;
  }
  return size_of(one) != 0;
}

}  // namespace kv
