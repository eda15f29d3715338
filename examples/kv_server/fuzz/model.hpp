// What a command is to do, said once more in the plainest way: on std::map, std::deque and std::set, after
// Redis's documentation. It covers most commands on values, without their rarer options.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "resp.hpp"

namespace kv::fuzz {

using list_model = std::deque<std::string>;
using set_model = std::set<std::string>;
using hash_model = std::vector<std::pair<std::string, std::string>>;  // in the order of their coming
using sorted_set_model = std::map<std::string, double>;

struct value_model {
  std::variant<std::string, list_model, set_model, hash_model, sorted_set_model> content;
  std::int64_t expires = 0;  // 0: never
  std::uint64_t version = 0;

  bool same(const value_model& other) const { return content == other.content && expires == other.expires; }
};

using keyspace = std::map<std::string, value_model>;

struct expectation {
  reply answer;            // of an error, just the first word
  bool any_order = false;  // of the answer's elements
};

using words = std::vector<std::string>;

inline constexpr std::size_t max_string = 4096;  // bytes; the server is to be told the same

// Does to `keys` what the command should do; not if it should fail: then they are of no use. nullopt: the
// model does not know.
std::optional<expectation> predict(const words& command, keyspace& keys, std::int64_t now);

}  // namespace kv::fuzz
