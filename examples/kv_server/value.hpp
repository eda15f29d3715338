// The values that a key can hold: a string, or one of four collections.
//
// An allocator counts the memory of all of them. The collections are trees and a deque: no insertion or
// removal ever has to move all elements, so no single command stalls the others.
#pragma once

#include <deque>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace kv {

// Bytes of keys and values, without the overhead of malloc. Use it with the server's lock held.
inline std::size_t memory_in_use = 0;

template <class Type>
struct counting_allocator {
  using value_type = Type;
  using size_type = std::size_t;  // pb_ds needs these
  using difference_type = std::ptrdiff_t;
  counting_allocator() = default;
  template <class Other>
  counting_allocator(const counting_allocator<Other>&) {}

  Type* allocate(std::size_t count) {
    Type* made = std::allocator<Type>().allocate(count);
    memory_in_use += count * sizeof(Type);
    return made;
  }
  void deallocate(Type* gone, std::size_t count) {
    memory_in_use -= count * sizeof(Type);
    std::allocator<Type>().deallocate(gone, count);
  }
  bool operator==(const counting_allocator&) const { return true; }
};

using stored_text = std::basic_string<char, std::char_traits<char>, counting_allocator<char>>;
using list_value = std::deque<stored_text, counting_allocator<stored_text>>;
using hash_value = std::map<stored_text, stored_text, std::less<>,
                            counting_allocator<std::pair<const stored_text, stored_text>>>;
// A tree that finds the element of a rank in logarithmic time.
using set_value =
    __gnu_pbds::tree<stored_text, __gnu_pbds::null_type, std::less<stored_text>, __gnu_pbds::rb_tree_tag,
                     __gnu_pbds::tree_order_statistics_node_update, counting_allocator<char>>;

// Members in the order of their scores; members with equal scores in the order of their names.
class sorted_set_value {
public:
  using position = std::pair<double, stored_text>;
  using positions = std::set<position, std::less<>, counting_allocator<position>>;

  std::size_t size() const { return scores_.size(); }
  bool empty() const { return scores_.empty(); }
  // Returns whether the score is new. If memory runs out nothing has changed.
  bool set(std::string_view member, double score);
  positions::const_iterator begin() const { return order_.begin(); }
  positions::const_iterator end() const { return order_.end(); }
  void drop_first();

private:
  std::map<stored_text, double, std::less<>, counting_allocator<std::pair<const stored_text, double>>>
      scores_;
  positions order_;
};

using any_value = std::variant<stored_text, std::unique_ptr<list_value>, std::unique_ptr<set_value>,
                               std::unique_ptr<hash_value>, std::unique_ptr<sorted_set_value>>;

// The string or collection of that type; nullptr if the value has another type.
template <class Type>
Type* get_as(any_value& one) {
  if constexpr (std::is_same_v<Type, stored_text>) {
    return std::get_if<stored_text>(&one);
  } else {
    auto* held = std::get_if<std::unique_ptr<Type>>(&one);
    return held == nullptr ? nullptr : held->get();
  }
}
template <class Type>
const Type* get_as(const any_value& one) {
  return get_as<Type>(const_cast<any_value&>(one));
}

std::size_t size_of(const any_value& one);  // elements; 1 for a string

// Destroys an element of a collection, if there is any. Returns whether there are more.
bool drop_one(any_value& one);

// Assigns, and gives back the memory that a much shorter text would keep.
void assign_text(stored_text& to, std::string_view from);

}  // namespace kv
