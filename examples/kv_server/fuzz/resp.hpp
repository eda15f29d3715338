// Replies as a client reads them: a parser of RESP2 that has nothing from the server's, and takes nothing
// but what the protocol's description allows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kv::fuzz {

struct reply {
  char type = 0;  // + - : $ *
  bool null = false;
  std::string text;  // of an integer, its digits
  std::vector<reply> elements;

  bool operator==(const reply&) const = default;
};

// Takes one reply off the front. nullopt: the bytes are none, or not all of one.
std::optional<reply> parse_reply(std::string_view& bytes);

// All of them; it is a finding if they are not whole replies and nothing else.
std::vector<reply> parse_replies(std::string_view bytes);

reply simple(std::string text);
reply integer(long long number);
reply bulk(std::string text);
reply null_bulk();
reply null_array();
reply array(std::vector<reply> elements = {});

bool is_error(const reply& one);
std::string printed(const reply& one);

}  // namespace kv::fuzz
