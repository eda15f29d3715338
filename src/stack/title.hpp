// How reports name a stack.
#pragma once

#include <string_view>

#include "sennit/detail/stack/stack.hpp"

namespace sennit::inline v0_1::detail {

// In parts: fiber "x"; coroutine (unnamed); an unused stack.
struct stack_title {
  std::string_view kind, before, name, after;
};
inline stack_title stack_title_of(const stack_record* record) noexcept {
  if (record == nullptr)
    return {"an unused stack", "", "", ""};
  if (record->name == nullptr || record->name[0] == 0)
    return {record->kind, " ", "(unnamed)", ""};
  return {record->kind, " \"", record->name, "\""};
}

}  // namespace sennit::inline v0_1::detail
