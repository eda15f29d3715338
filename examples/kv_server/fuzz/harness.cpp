// Reports of broken properties, and the planted bugs that the sanitizers must find.
#include "harness.hpp"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

namespace kv::fuzz {

void broken(std::string_view property, const std::string& details) {
  std::fprintf(stderr, "BROKEN: %.*s\n%s\n", static_cast<int>(property.size()), property.data(),
               details.c_str());
  std::abort();
}

std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char byte : bytes) {
    if (byte == '"' || byte == '\\') {
      (text += '\\') += byte;
    } else if (byte >= ' ' && byte <= '~') {
      text += byte;
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(byte));
      text += escape;
    }
  }
  return text += '"';
}

bool is_planted(std::string_view bug) {
  static const char* const named = std::getenv("SENNIT_FUZZ_PLANT");
  return named != nullptr && bug == named;
}

void begin(std::string_view input) {
  restart_randomness();
  if (is_planted("memory")) {
    const std::unique_ptr<char[]> block(new char[input.size() + 1]);
    volatile const char* const end = block.get() + input.size() + 1;
    [[maybe_unused]] const char behind = *end;
  } else if (is_planted("undefined")) {
    volatile int most = std::numeric_limits<int>::max();
    most = most + static_cast<int>(input.size()) + 1;
  }
}

}  // namespace kv::fuzz
