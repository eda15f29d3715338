// Reading replies.
#include "resp.hpp"

#include <cstdlib>

#include "harness.hpp"

namespace kv::fuzz {

namespace {

std::optional<std::string> parse_line(std::string_view& bytes) {
  const std::size_t end = bytes.find_first_of("\r\n");
  if (end == std::string_view::npos || bytes.substr(end, 2) != "\r\n") {
    return std::nullopt;
  }
  std::string line(bytes.substr(0, end));
  bytes.remove_prefix(end + 2);
  return line;
}

bool is_integer(const std::string& text) {
  char* end = nullptr;
  return !text.empty() && std::to_string(std::strtoll(text.c_str(), &end, 10)) == text;
}

std::optional<reply> parse_bulk(std::string_view& bytes, reply made) {
  if (made.text == "-1") {
    return null_bulk();
  }
  const auto size = std::strtoull(made.text.c_str(), nullptr, 10);
  if (made.text[0] == '-' || bytes.size() < 2 || size > bytes.size() - 2 || bytes.substr(size, 2) != "\r\n") {
    return std::nullopt;
  }
  made.text = bytes.substr(0, size);
  bytes.remove_prefix(size + 2);
  return made;
}

std::optional<reply> parse_array(std::string_view& bytes, reply made) {
  if (made.text == "-1") {
    return null_array();
  }
  if (made.text[0] == '-') {
    return std::nullopt;
  }
  for (auto left = std::strtoull(made.text.c_str(), nullptr, 10); left != 0; --left) {
    auto element = parse_reply(bytes);
    if (!element) {
      return std::nullopt;
    }
    made.elements.push_back(std::move(*element));
  }
  made.text.clear();
  return made;
}

reply make(char type, std::string text) {
  reply made;
  made.type = type;
  made.text = std::move(text);
  return made;
}

}  // namespace

std::optional<reply> parse_reply(std::string_view& bytes) {
  if (bytes.empty()) {
    return std::nullopt;
  }
  const char type = bytes[0];
  bytes.remove_prefix(1);
  auto line = parse_line(bytes);
  if (!line || (std::string_view(":$*").find(type) != std::string_view::npos && !is_integer(*line))) {
    return std::nullopt;
  }
  reply made = make(type, std::move(*line));
  switch (type) {
    case '-':
      // A code in capitals comes first.
      return made.text.empty() || made.text[0] < 'A' || made.text[0] > 'Z' ? std::nullopt
                                                                           : std::optional(made);
    case '+':
    case ':':
      return made;
    case '$':
      return parse_bulk(bytes, std::move(made));
    case '*':
      return parse_array(bytes, std::move(made));
    default:
      return std::nullopt;
  }
}

std::vector<reply> parse_replies(std::string_view bytes) {
  std::vector<reply> all;
  for (std::string_view rest = bytes; !rest.empty();) {
    auto one = parse_reply(rest);
    if (!one) {
      broken("what the server says is whole replies", quoted(bytes.substr(0, 2000)));
    }
    all.push_back(std::move(*one));
  }
  return all;
}

reply simple(std::string text) {
  return make('+', std::move(text));
}

reply integer(long long number) {
  return make(':', std::to_string(number));
}

reply bulk(std::string text) {
  return make('$', std::move(text));
}

reply null_bulk() {
  reply made = make('$', {});
  made.null = true;
  return made;
}

reply null_array() {
  reply made = make('*', {});
  made.null = true;
  return made;
}

reply array(std::vector<reply> elements) {
  reply made = make('*', {});
  made.elements = std::move(elements);
  return made;
}

bool is_error(const reply& one) {
  return one.type == '-';
}

std::string printed(const reply& one) {
  std::string text(1, one.type);
  if (one.null) {
    return text + "null";
  }
  if (one.type != '*') {
    return text + quoted(one.text);
  }
  for (const reply& each : one.elements) {
    text += ' ' + printed(each);
  }
  return text + " ;";
}

}  // namespace kv::fuzz
