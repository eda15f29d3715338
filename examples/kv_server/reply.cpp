// Error replies, the ones that may hold a client's bytes.
#include "reply.hpp"

#include <algorithm>
#include <string>

namespace kv {

void reply_writer::error(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  std::string clean(text.substr(0, text.find_last_not_of("\r\n") + 1));
  std::replace_if(clean.begin(), clean.end(), [](char byte) { return byte == '\r' || byte == '\n'; }, ' ');
  line('-', clean);
}

}  // namespace kv
