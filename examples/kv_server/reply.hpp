// The Redis protocol, outgoing side: RESP2 replies appended to a buffer.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "buffer.hpp"
#include "integer.hpp"

namespace kv {

class reply_writer {
public:
  explicit reply_writer(buffer& out) : out_(out) {}

  // Takes back what was written since position() was asked for.
  std::size_t position() const { return out_.size(); }
  void back_to(std::size_t position) { out_.truncate(position); }
  bool overflowed() const { return out_.overflowed(); }  // nothing more is taken

  // Ready-made protocol text, line ends included.
  void raw(std::string_view text) { out_.append(text); }

  void ok() { raw("+OK\r\n"); }
  void null() { raw("$-1\r\n"); }
  void null_array() { raw("*-1\r\n"); }

  // `text` holds neither CR nor LF.
  void simple(std::string_view text) { line('+', text); }

  // Arguments may have found their way into the text: as Redis does, CR and LF become spaces, or are left out
  // at the end, and it ends at the first zero byte. Starts with an upper-case code: "ERR syntax error".
  void error(std::string_view text);

  void integer(std::int64_t value) { number(':', value); }
  void array(std::size_t elements) { number('*', elements); }

  // An array of bulk strings.
  void bulks(std::initializer_list<std::string_view> texts) {
    array(texts.size());
    for (const std::string_view each : texts) {
      bulk(each);
    }
  }

  void bulk(std::string_view bytes) {
    char* to = out_.reserve(bytes.size() + integer_digits + 5);
    if (to == nullptr) {
      return;
    }
    *to++ = '$';
    to = end_line(write_integer(to, bytes.size()));
    if (!bytes.empty()) {
      std::memcpy(to, bytes.data(), bytes.size());
    }
    out_.commit_to(end_line(to + bytes.size()));
  }

private:
  static char* end_line(char* to) {
    std::memcpy(to, "\r\n", 2);
    return to + 2;
  }

  template <std::integral Integer>
  void number(char type, Integer value) {
    if (char* to = out_.reserve(integer_digits + 3)) {
      *to++ = type;
      out_.commit_to(end_line(write_integer(to, value)));
    }
  }

  void line(char type, std::string_view text) {
    if (char* to = out_.reserve(text.size() + 3)) {
      *to++ = type;
      std::memcpy(to, text.data(), text.size());
      out_.commit_to(end_line(to + text.size()));
    }
  }

  buffer& out_;
};

}  // namespace kv
