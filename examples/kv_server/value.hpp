// What a key may hold: a string, or one of the collections. Each knows in constant time what memory it holds.
#pragma once

#include <deque>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "member_table.hpp"

namespace kv {

enum class list_end { left, right };

class list_value {
public:
  std::size_t size() const { return items_.size(); }
  const std::string& operator[](std::size_t index) const { return items_[index]; }

  void push(list_end end, std::string_view text);
  std::string pop(list_end end);  // not of an empty list
  void assign(std::size_t index, std::string_view text);
  void insert(std::size_t index, std::string_view text);
  void keep(std::size_t first, std::size_t count);  // erases all others
  // Erases items equal to `text`, at most `most`, beginning at that end. Returns how many.
  std::size_t erase_equal(std::string_view text, std::size_t most, list_end from);

  std::size_t memory() const { return sizeof(*this) + items_.size() * sizeof(std::string) + texts_; }

private:
  std::deque<std::string> items_;
  std::size_t texts_ = 0;
};

class set_value {
public:
  std::size_t size() const { return members_.size(); }
  const std::string& operator[](std::size_t position) const { return members_[position].name; }
  bool contains(std::string_view member) const { return members_.contains(member); }
  bool add(std::string_view member);
  bool erase(std::string_view member) { return members_.erase(member); }
  void erase_at(std::size_t position) { members_.erase_at(position); }

  // It has never held anything but a few integers. Redis shows those in ascending order.
  bool is_integers() const { return integers_; }

  std::size_t memory() const { return sizeof(*this) + members_.memory(); }

private:
  static constexpr std::size_t most_integers = 512;

  member_table<nothing> members_;
  bool integers_ = true;
};

class hash_value {
public:
  std::size_t size() const { return fields_.size(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  const std::string* find(std::string_view field) const { return fields_.find(field); }
  bool set(std::string_view field, std::string_view text) { return fields_.set(field, std::string(text)); }
  bool erase(std::string_view field) { return fields_.erase(field); }

  std::size_t memory() const { return sizeof(*this) + fields_.memory(); }

private:
  member_table<std::string> fields_;
};

// Members in the order of their scores, equal scores in the order of the names. The tree counts what is below
// each node: a rank, or the member of a rank, is found in logarithmic time.
class sorted_set_value {
public:
  using position = std::pair<double, std::string>;
  using tree = __gnu_pbds::tree<position, __gnu_pbds::null_type, std::less<position>, __gnu_pbds::rb_tree_tag,
                                __gnu_pbds::tree_order_statistics_node_update>;

  std::size_t size() const { return scores_.size(); }
  const double* score(std::string_view member) const { return scores_.find(member); }
  bool set(std::string_view member, double score);  // true: it was not there
  bool erase(std::string_view member);
  void erase(std::size_t rank);

  std::size_t rank(std::string_view member, double score) const {
    return order_.order_of_key({score, std::string(member)});
  }
  tree::const_iterator at(std::size_t rank) const { return order_.find_by_order(rank); }

  std::size_t memory() const {
    return sizeof(*this) + scores_.memory() + scores_.size() * (sizeof(position) + node_links) + texts_;
  }

private:
  static constexpr std::size_t node_links = 40;  // of the tree, about

  member_table<double> scores_;
  tree order_;
  std::size_t texts_ = 0;  // the names in order_
};

using any_value = std::variant<std::string, std::unique_ptr<list_value>, std::unique_ptr<set_value>,
                               std::unique_ptr<hash_value>, std::unique_ptr<sorted_set_value>>;

// The string or collection of that type in it; nullptr: it holds another type.
template <class Type>
Type* get_as(any_value& one) {
  if constexpr (std::is_same_v<Type, std::string>) {
    return std::get_if<std::string>(&one);
  } else {
    auto* held = std::get_if<std::unique_ptr<Type>>(&one);
    return held == nullptr ? nullptr : held->get();
  }
}
template <class Type>
const Type* get_as(const any_value& one) {
  return get_as<Type>(const_cast<any_value&>(one));
}

template <class Type>
any_value make_value() {
  if constexpr (std::is_same_v<Type, std::string>) {
    return std::string();
  } else {
    return std::make_unique<Type>();
  }
}

std::size_t memory_of(const any_value& one);     // outside of the variant itself
bool is_empty_collection(const any_value& one);  // such a key is removed
std::string_view type_name(const any_value& one);

// Gives back the room that a much shorter text would keep.
void assign_text(std::string& to, std::string_view text);

}  // namespace kv
