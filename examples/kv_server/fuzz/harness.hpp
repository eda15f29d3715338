// What all fuzz targets share: reading the input, stating what must hold, and planted bugs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kv::fuzz {

// The input, from the front. Behind its end there are zeros.
class reader {
public:
  reader(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) {
      return 0;
    }
    const auto first = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return first;
  }
  std::string_view bytes(std::size_t most) {
    const std::string_view taken = rest_.substr(0, most);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return bytes(rest_.size()); }

private:
  std::string_view rest_;
};

// A property has been broken: says which, with the details, and ends the program as a finding.
[[noreturn]] void broken(std::string_view property, const std::string& details = {});

inline void require(bool holds, std::string_view property) {
  if (!holds) [[unlikely]] {
    broken(property);
  }
}

// Bytes as C would write them, for messages.
std::string quoted(std::string_view bytes);

// Whether SENNIT_FUZZ_PLANT names this bug: `scripts/fuzz --planted` has each of them found.
bool is_planted(std::string_view bug);

// To be called for each input: makes it repeatable, and runs into the bugs that are the sanitizers' to find.
void begin(std::string_view input);

void restart_randomness();

}  // namespace kv::fuzz
