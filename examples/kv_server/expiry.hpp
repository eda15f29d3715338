// Times to live in commands: EX seconds, PX milliseconds, and the same as moments, EXAT and PXAT.
#pragma once

#include <cstdint>
#include <string_view>

#include "commands.hpp"

namespace kv {

struct expiry_unit {
  std::string_view name;  // lower case
  bool seconds;
  bool relative;
};

// nullptr: the word names none.
const expiry_unit* find_expiry_unit(std::string_view word);

// A unit and the number that goes with it.
struct expiry_option {
  const expiry_unit* unit = nullptr;
  std::string_view number;

  // In milliseconds since 1970; fails if it is none in the future of 1970.
  std::int64_t moment(const invocation& call, std::string_view command) const;
};

}  // namespace kv
