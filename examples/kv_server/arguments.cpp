// Reading a command's arguments.
#include "arguments.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "integer.hpp"

namespace kv {

std::int64_t integer_argument(const invocation& call, std::size_t index, std::string_view error) {
  const auto number = parse_integer(call.arguments[index]);
  if (!number) {
    fail(error);
  }
  return *number;
}

std::size_t count_argument(const invocation& call, std::size_t index) {
  const std::int64_t number = integer_argument(call, index, not_positive);
  if (number < 0) {
    fail(not_positive);
  }
  return static_cast<std::size_t>(number);
}

std::optional<double> parse_double(std::string_view text) {
  if (text.empty() || text.size() > 5000 || std::isspace(static_cast<unsigned char>(text[0])) != 0) {
    return std::nullopt;
  }
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(terminated.c_str(), &end);
  const bool out_of_range = errno == ERANGE && (std::isinf(number) || std::fpclassify(number) == FP_ZERO);
  if (end != terminated.c_str() + text.size() || out_of_range || std::isnan(number)) {
    return std::nullopt;
  }
  return number;
}

std::string score_text(double number) {
  if (std::isinf(number)) {
    return number > 0 ? "inf" : "-inf";
  }
  char text[40];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.17g", number))};
}

std::chrono::steady_clock::time_point deadline_argument(const invocation& call, std::size_t index) {
  using std::chrono::steady_clock;
  const auto seconds = parse_double(call.arguments[index]);
  if (!seconds) {
    fail("ERR timeout is not a float or out of range");
  }
  // What is too long is negative to Redis, whose conversion overflows.
  const double exact = std::ceil(*seconds * 1000);
  if (exact < 0 || exact >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
    fail("ERR timeout is negative");
  }
  const auto milliseconds = static_cast<std::int64_t>(exact);
  const auto now = steady_clock::now();
  const auto longest =
      std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::time_point::max() - now);
  if (milliseconds == 0 || milliseconds >= longest.count()) {
    return steady_clock::time_point::max();
  }
  return now + std::chrono::milliseconds(milliseconds);
}

selection select_range(std::int64_t first, std::int64_t last, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  first = std::max<std::int64_t>(first < 0 ? first + length : first, 0);
  last = std::min(last < 0 ? last + length : last, length - 1);
  if (first > last || first >= length) {
    return {0, 0};
  }
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1)};
}

namespace {

unsigned char folded(char byte, bool ignore_case) {
  const auto plain = static_cast<unsigned char>(byte);
  return ignore_case && plain >= 'A' && plain <= 'Z' ? static_cast<unsigned char>(plain | 0x20) : plain;
}

// A class whose '[' is at `at`; moves `at` behind it. Without its ']' it ends with the pattern.
bool class_has(std::string_view pattern, std::size_t& at, char byte, bool ignore_case) {
  ++at;
  const bool inverted = at < pattern.size() && pattern[at] == '^';
  at += inverted ? 1 : 0;
  const unsigned char wanted = folded(byte, ignore_case);
  bool found = false;
  for (; at < pattern.size() && pattern[at] != ']'; ++at) {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) {
      ++at;
      found = found || pattern[at] == byte;
    } else if (at + 2 < pattern.size() && pattern[at + 1] == '-') {
      const unsigned char one = folded(pattern[at], ignore_case),
                          other = folded(pattern[at + 2], ignore_case);
      found = found || (wanted >= std::min(one, other) && wanted <= std::max(one, other));
      at += 2;
    } else {
      found = found || folded(pattern[at], ignore_case) == wanted;
    }
  }
  at += at < pattern.size() ? 1 : 0;
  return found != inverted;
}

// One byte against the pattern's next element, which is no '*'; moves `at` behind that.
bool element_matches(std::string_view pattern, std::size_t& at, char byte, bool ignore_case) {
  if (pattern[at] == '[') {
    return class_has(pattern, at, byte, ignore_case);
  }
  if (pattern[at] == '?') {
    ++at;
    return true;
  }
  if (pattern[at] == '\\' && at + 1 < pattern.size()) {
    ++at;
  }
  return folded(pattern[at++], ignore_case) == folded(byte, ignore_case);
}

}  // namespace

// Only the last '*' is ever tried again with more of the text: it takes no more than the product of the
// sizes.
bool matches_pattern(std::string_view pattern, std::string_view text, bool ignore_case) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t at = 0, position = 0, star = none, star_position = 0;
  while (position < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_position = position;
    } else if (at < pattern.size() && element_matches(pattern, at, text[position], ignore_case)) {
      ++position;
    } else if (star != none) {
      at = star;
      position = ++star_position;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') {
    ++at;
  }
  return at == pattern.size();
}

}  // namespace kv
