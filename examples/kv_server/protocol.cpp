// The request parser. The common case, a complete array of complete bulks, runs through the three short
// functions parse, read_length and read_short_length; everything else is off that path.
#include "protocol.hpp"

#include <algorithm>
#include <climits>

#include "integer.hpp"

namespace kv {

namespace {

constexpr std::size_t max_line = 64 * 1024;  // an inline command, or a line holding a count or length

// A session between requests keeps no more than this.
constexpr std::size_t kept_slices = 64;

// Reads "<digits>\r?" after the type byte at `position`, when it is all there and in shortest form with at
// most nine digits: true, and `position` moves past it. Anything else is left to the careful way.
inline bool read_short_length(std::string_view input, std::size_t& position, std::int64_t& value) {
  const char* const first = input.data() + position + 1;
  const char* const end = input.data() + input.size();
  const char* at = first;
  unsigned number = 0;
  for (; at < end && at - first < 9; ++at) {
    const unsigned digit = static_cast<unsigned char>(*at) - static_cast<unsigned>('0');
    if (digit > 9) {
      break;
    }
    number = number * 10 + digit;
  }
  const auto digits = at - first;
  if (end - at < 2 || *at != '\r' || digits == 0 || (*first == '0' && digits > 1)) {
    return false;
  }
  value = number;
  position = static_cast<std::size_t>(at + 2 - input.data());
  return true;
}

// As strchr: a zero byte ends the search.
std::size_t find_in_c_string(std::string_view text, char wanted) {
  const std::size_t found = text.find(wanted);
  return found != std::string_view::npos && text.substr(0, found).find('\0') == std::string_view::npos
             ? found
             : std::string_view::npos;
}

bool is_space(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

}  // namespace

// The line at position_: the byte `type` ('*' or '$') and a number.
inline request_parser::status request_parser::read_length(std::string_view input, char type,
                                                          std::int64_t& value) {
  if (position_ < input.size() && input[position_] == type && read_short_length(input, position_, value)) {
    return status::complete;
  }
  return read_length_slowly(input, type, value);
}

inline request_parser::status request_parser::read_count(std::string_view input) {
  std::int64_t count = 0;
  if (const status got = read_length(input, '*', count); got != status::complete) {
    return got;
  }
  if (count > static_cast<std::int64_t>(limits_.most_elements)) {
    return fail_count(count);
  }
  remaining_ = count > 0 ? static_cast<std::size_t>(count) : 0;
  in_array_ = true;
  return status::complete;
}

inline request_parser::status request_parser::read_bulk_length(std::string_view input) {
  std::int64_t length = 0;
  if (const status got = read_length(input, '$', length); got != status::complete) {
    return got;
  }
  if (length < 0 || static_cast<std::size_t>(length) > limits_.max_bulk) {
    return fail("invalid bulk length");
  }
  if (position_ + static_cast<std::size_t>(length) + 2 > limits_.max_request) {
    return fail("request exceeds client-query-buffer-limit");
  }
  bulk_length_ = length;
  return status::complete;
}

void request_parser::start() {
  slices_.clear();
  if (slices_.capacity() > kept_slices) {
    slices_.shrink_to_fit();
  }
  position_ = 0;
}

request_parser::status request_parser::parse(std::string_view input) {
  if (!in_array_) {
    start();
    if (input.empty()) {
      return status::incomplete;
    }
    if (input[0] != '*') {
      return parse_inline(input);
    }
    if (const status got = read_count(input); got != status::complete) {
      return got;
    }
  }
  while (remaining_ != 0) {
    if (bulk_length_ == unread) {
      if (const status got = read_bulk_length(input); got != status::complete) {
        return got;
      }
    }
    const auto size = static_cast<std::size_t>(bulk_length_);
    if (input.size() < position_ + size + 2) {
      return status::incomplete;
    }
    slices_.push_back({static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(size)});
    position_ += size + 2;
    bulk_length_ = unread;
    --remaining_;
  }
  in_array_ = false;
  return status::complete;
}

// The line ends at a CR; the byte after it must be there too.
request_parser::status request_parser::read_length_slowly(std::string_view input, char type,
                                                          std::int64_t& value) {
  const std::string_view rest = input.substr(position_);
  const std::size_t end = find_in_c_string(rest, '\r');
  if (end > max_line && rest.size() > max_line) {  // npos too
    return fail(type == '*' ? "too big mbulk count string" : "too big bulk count string");
  }
  if (end == std::string_view::npos || end + 2 > rest.size()) {
    return status::incomplete;
  }
  if (rest[0] != type) {  // never so for '*'
    std::string text = "expected '$', got ' '";
    text[text.size() - 2] = rest[0] == '\r' || rest[0] == '\n' ? ' ' : rest[0];
    return fail(text);
  }
  const auto number = parse_integer(rest.substr(1, end - 1));
  if (!number) {
    return fail(type == '*' ? "invalid multibulk length" : "invalid bulk length");
  }
  value = *number;
  position_ += end + 2;
  return status::complete;
}

[[gnu::noinline]] request_parser::status request_parser::fail_count(std::int64_t count) {
  const std::string most = std::to_string(limits_.most_elements);
  return fail(count > INT_MAX ? "invalid multibulk length"
                              : "invalid multibulk length: at most " + most +
                                    " arguments; send several requests, or raise --most-elements");
}

request_parser::status request_parser::fail(std::string_view text) {
  error_ = "Protocol error: ";
  error_ += text;
  return status::malformed;
}

// Words between spaces. Quotes are ordinary bytes, other than in Redis.
request_parser::status request_parser::parse_inline(std::string_view input) {
  const std::size_t newline = find_in_c_string(input, '\n');
  if (newline > max_line && input.size() > max_line) {
    return fail("too big inline request");
  }
  if (newline == std::string_view::npos) {
    return status::incomplete;
  }
  const std::string_view text = input.substr(0, newline);
  const auto ends_word = [](char byte) { return byte == ' ' || byte == '\t' || byte == '\r'; };
  for (auto at = text.begin(); (at = std::find_if_not(at, text.end(), is_space)) != text.end();) {
    const auto end = std::find_if(at, text.end(), ends_word);
    slices_.push_back({static_cast<std::uint32_t>(at - text.begin()), static_cast<std::uint32_t>(end - at)});
    at = end;
  }
  position_ = newline + 1;
  return status::complete;
}

}  // namespace kv
