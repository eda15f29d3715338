// Stacks for C.
#include "sennit/stacks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "error.hpp"
#include "sennit/on_large_stack.hpp"
#include "sennit/sennit.h"

using namespace sennit;
using capi::guarded;

namespace {

template <std::size_t Room>
void copy_text(char (&to)[Room], const std::string& from) noexcept {
  const std::size_t length = std::min(from.size(), Room - 1);
  std::memcpy(to, from.data(), length);
  to[length] = 0;
}

}  // namespace

int sennit_on_large_stack(sennit_function function, void* argument) {
  if (function == nullptr)
    return -EINVAL;
  return guarded([&] {
    on_large_stack([&] { function(argument); });
    return 0;
  });
}

void sennit_stacks_measure(bool on) {
  measure_stacks(on);
}

size_t sennit_stack_high_water(void) {
  return stack_high_water();
}

ssize_t sennit_stack_usages(sennit_stack_usage* usages, size_t room) {
  if (usages == nullptr && room != 0)
    return -EINVAL;
  return guarded([&]() -> ssize_t {
    const std::vector<stack_usage> all = stack_usages();
    for (std::size_t i = 0; i != std::min(room, all.size()); ++i) {
      copy_text(usages[i].kind, all[i].kind);
      copy_text(usages[i].name, all[i].name);
      usages[i].count = all[i].count;
      usages[i].size = all[i].size;
      usages[i].high_water = all[i].high_water;
      usages[i].enough = all[i].enough();
    }
    return static_cast<ssize_t>(all.size());
  });
}
