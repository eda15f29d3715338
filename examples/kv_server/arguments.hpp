// Reading a command's arguments and the values it works on; what is wrong is thrown as a command_error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "commands.hpp"

namespace kv {

std::int64_t integer_argument(const invocation& call, std::size_t index,
                              std::string_view error = not_an_integer);
// From 0 up.
std::size_t count_argument(const invocation& call, std::size_t index);

// As C's strtod reads it, the whole text and no space before it: "inf" and "0x10" are numbers.
std::optional<double> parse_double(std::string_view text);

// A score as replies show it, with 17 digits.
std::string score_text(double number);

// The moment until which a command with a time-out of so many seconds waits; max(): for ever.
std::chrono::steady_clock::time_point deadline_argument(const invocation& call, std::size_t index);

// The value of that type at a key; nullptr: no such key.
template <class Type>
const Type* read(invocation& call, std::string_view key) {
  const any_value* found = call.server.keys.find(key);
  if (found == nullptr) {
    return nullptr;
  }
  const Type* typed = get_as<Type>(*found);
  if (typed == nullptr) [[unlikely]] {
    fail(wrong_type);
  }
  return typed;
}

// The same, to be changed in place.
template <class Type>
class change {
public:
  change(invocation& call, std::string_view key) : edit_(call.server.keys, key) {
    if (any_value* found = edit_.get()) {
      typed_ = get_as<Type>(*found);
      if (typed_ == nullptr) {
        edit_.unchanged();
        fail(wrong_type);
      }
    }
  }

  explicit operator bool() const { return typed_ != nullptr; }
  Type* operator->() const { return typed_; }
  Type& operator*() const { return *typed_; }

  Type& or_create() {
    if (typed_ == nullptr) {
      typed_ = get_as<Type>(edit_.create(make_value<Type>()));
    }
    return *typed_;
  }
  void unchanged() { edit_.unchanged(); }

private:
  store::edit edit_;
  Type* typed_ = nullptr;
};

// Replies with the number of elements of the collection at the key.
template <class Type>
void reply_size(invocation& call) {
  const auto* found = read<Type>(call, call.arguments[1]);
  call.reply.integer(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
}

// Indices from a client, negative ones counted from the end, as what they select of `size` elements.
struct selection {
  std::size_t first;
  std::size_t count;
};
selection select_range(std::int64_t first, std::int64_t last, std::size_t size);

// Redis's patterns: * ? [a-z] [^a-z] and \ before what is meant literally.
bool matches_pattern(std::string_view pattern, std::string_view text, bool ignore_case = false);

}  // namespace kv
