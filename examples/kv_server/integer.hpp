// Redis's strict reading of a decimal integer: lengths in the protocol and the value INCR works on.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kv {

// The whole text must be one number in its shortest form: no sign '+', no leading zero, no "-0", no space.
inline std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::size_t first = !text.empty() && text[0] == '-' ? 1 : 0;
  if (text.size() == first || text[first] < '0' || text[first] > '9') {
    return std::nullopt;
  }
  if (text[first] == '0' && text.size() != 1) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

inline constexpr std::size_t integer_digits = 20;  // "-9223372036854775808", "18446744073709551615"

// Writes `value` in decimal at `to` (room for integer_digits) and returns the end.
template <std::integral Integer>
inline char* write_integer(char* to, Integer value) {
  if (value >= 0 && value < 10) {
    *to = static_cast<char>('0' + static_cast<char>(value));
    return to + 1;
  }
  return std::to_chars(to, to + integer_digits, value).ptr;
}

}  // namespace kv
