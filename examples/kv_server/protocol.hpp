// The Redis protocol, incoming side: an incremental parser of requests, RESP2 arrays and inline commands.
//
// It copies nothing: the arguments of a parsed request are views into the bytes it was given. It keeps
// offsets, not pointers, so the caller may move those bytes between calls, as long as they start with the
// first byte of the request in progress. Work done on half a request is never done again.
//
// Behaviour and error texts are those of Redis 7.0.15, oddities included: the byte after a CR is not looked
// at, nor are the two after a bulk; a zero byte hides the end of a line (C strings). Inline requests have no
// quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kv {

struct protocol_limits {
  std::size_t most_elements = 4096;                 // arguments of one request; what it uses (commands.hpp)
  std::size_t max_bulk = std::size_t{512} << 20;    // Redis's proto-max-bulk-len
  std::size_t max_request = std::size_t{16} << 20;  // bytes of one request; below 4 GiB (offsets are 32 bits)
};

// The arguments of one request. Valid until the bytes they were parsed from, or the parser, change.
class request {
public:
  struct slice {
    std::uint32_t offset;
    std::uint32_t size;
  };

  request(const char* base, const slice* slices, std::size_t count)
      : base_(base), slices_(slices), count_(count) {}

  std::size_t size() const { return count_; }
  std::string_view operator[](std::size_t index) const {
    return {base_ + slices_[index].offset, slices_[index].size};
  }

private:
  const char* base_;
  const slice* slices_;
  std::size_t count_;
};

class request_parser {
public:
  enum class status { complete, incomplete, malformed };

  explicit request_parser(const protocol_limits& limits) : limits_(limits) {}

  // Goes on with the request that starts at the first byte of `input`; give at least what the last call got.
  // complete: see arguments() and consumed(); no arguments (an empty line, "*0") means nothing to execute.
  // malformed: see error(); the connection is then to be closed, the parser is of no further use.
  status parse(std::string_view input);

  request arguments(std::string_view input) const { return {input.data(), slices_.data(), slices_.size()}; }
  std::size_t consumed() const { return position_; }
  const std::string& error() const { return error_; }  // without "-ERR " and line end

  std::size_t memory() const { return slices_.capacity() * sizeof(request::slice); }

private:
  // Those that read a line return complete if it is whole.
  void start();
  status read_count(std::string_view input);
  status read_bulk_length(std::string_view input);
  status read_length(std::string_view input, char type, std::int64_t& value);
  status read_length_slowly(std::string_view input, char type, std::int64_t& value);
  status fail_count(std::int64_t count);
  status fail(std::string_view text);
  status parse_inline(std::string_view input);

  protocol_limits limits_;
  std::vector<request::slice> slices_;
  std::string error_;
  std::size_t position_ = 0;           // everything before it is parsed
  std::size_t remaining_ = 0;          // bulks still to come
  std::int64_t bulk_length_ = unread;  // of the bulk at position_
  bool in_array_ = false;              // the count has been read, the request is not complete

  static constexpr std::int64_t unread = -1;
};

}  // namespace kv
