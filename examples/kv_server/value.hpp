// The values that a key can hold: a string, or one of four collections.
//
// Each value knows in constant time how much memory it holds. The collections are trees and a deque: no
// insertion or removal ever has to move all elements, so no single command stalls the others.
#pragma once

#include <deque>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace kv {

// The bytes that a string holds outside of itself.
inline std::size_t text_memory(const std::string& text) {
  constexpr std::size_t inside = 15;  // libstdc++ stores that much without an allocation
  return text.capacity() <= inside ? 0 : text.capacity() + 1;
}

inline constexpr std::size_t node_links = 40;  // what a tree node holds beside its element, about

enum class list_end { left, right };

class list_value {
public:
  std::size_t size() const { return items_.size(); }
  const std::string& operator[](std::size_t index) const { return items_[index]; }

  const std::string& push(list_end end, std::string_view text);  // stays where it is until it is popped
  std::string pop(list_end end);                                 // the list must not be empty
  void drop_one() { pop(list_end::right); }

  std::size_t memory() const { return sizeof(*this) + items_.size() * sizeof(std::string) + texts_; }

private:
  std::deque<std::string> items_;
  std::size_t texts_ = 0;
};

class set_value {
public:
  // A tree that finds the element of a rank in logarithmic time.
  using tree = __gnu_pbds::tree<std::string, __gnu_pbds::null_type, std::less<std::string>,
                                __gnu_pbds::rb_tree_tag, __gnu_pbds::tree_order_statistics_node_update>;

  std::size_t size() const { return members_.size(); }
  tree::const_iterator begin() const { return members_.begin(); }
  tree::const_iterator end() const { return members_.end(); }
  tree::const_iterator at(std::size_t rank) const { return members_.find_by_order(rank); }
  bool contains(const std::string& member) const { return members_.find(member) != members_.end(); }
  bool add(std::string_view member);  // returns whether the member is new
  bool erase(const std::string& member);
  void drop_one() { erase(*members_.begin()); }

  std::size_t memory() const {
    return sizeof(*this) + members_.size() * (sizeof(std::string) + node_links) + texts_;
  }

private:
  tree members_;
  std::size_t texts_ = 0;
};

class hash_value {
public:
  std::size_t size() const { return fields_.size(); }
  const std::string* find(std::string_view field) const;
  bool set(std::string_view field, std::string_view text);  // returns whether the field is new
  void drop_one();

  std::size_t memory() const {
    return sizeof(*this) + fields_.size() * (2 * sizeof(std::string) + node_links) + texts_;
  }

private:
  std::map<std::string, std::string, std::less<>> fields_;
  std::size_t texts_ = 0;
};

// Members in the order of their scores; members with equal scores in the order of their names.
class sorted_set_value {
public:
  using position = std::pair<double, std::string>;

  std::size_t size() const { return scores_.size(); }
  enum class placed { already, moved, added };
  placed set(std::string_view member, double score);
  std::set<position>::const_iterator begin() const { return order_.begin(); }
  std::set<position>::const_iterator end() const { return order_.end(); }
  void drop_one();  // the first

  std::size_t memory() const {
    return sizeof(*this) + scores_.size() * (2 * sizeof(position) + 2 * node_links) + texts_;
  }

private:
  std::map<std::string, double, std::less<>> scores_;
  std::set<position> order_;
  std::size_t texts_ = 0;
};

using any_value = std::variant<std::string, std::unique_ptr<list_value>, std::unique_ptr<set_value>,
                               std::unique_ptr<hash_value>, std::unique_ptr<sorted_set_value>>;

// The string or collection of that type; nullptr if the value has another type.
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

std::size_t size_of(const any_value& one);    // elements; 1 for a string
std::size_t memory_of(const any_value& one);  // outside of the variant itself

// Destroys an element of a collection, if there is any. Returns whether there are more.
bool drop_one(any_value& one);

// Assigns, and gives back the memory that a much shorter text would keep.
void assign_text(std::string& to, std::string_view text);

}  // namespace kv
