// Fuzz target: the request parser. The same requests and errors come out however the bytes are split,
// nothing is read or consumed twice, memory stays bounded, and a request written as RESP parses to itself.
//
// input: settings, number of chunk sizes, the sizes, where and how long a run of one byte is put in, the
// bytes
#include "protocol.hpp"

#include <memory>

#include "harness.hpp"
#include "resp.hpp"

namespace kv::fuzz {

namespace {

constexpr std::size_t most_bytewise = 1500;  // each step gets a copy of all bytes so far

// What came out: the requests, each after the number of bytes it took, and the error, if any.
struct outcome {
  std::vector<std::vector<std::string>> requests;
  std::vector<std::size_t> consumed;
  std::string error;

  bool operator==(const outcome&) const = default;
};

std::string printed(const outcome& one) {
  std::string text;
  for (std::size_t i = 0; i < one.requests.size(); ++i) {
    text += std::to_string(one.consumed[i]) + " bytes:";
    for (const std::string& each : one.requests[i]) {
      text += ' ' + quoted(each.substr(0, 100));
    }
    text += '\n';
  }
  return text + "error: " + quoted(one.error) + '\n';
}

// Parses bytes that come bit by bit, as a session does: the request in progress begins at their front.
class consumer {
public:
  explicit consumer(const protocol_limits& limits) : parser_(limits) {}

  // All bytes that are not consumed are given again, in a block that ends with them, where they were not
  // before.
  void give(std::string_view chunk) {
    if (!seen_.error.empty()) {
      return;
    }
    const std::size_t size = pending_.size() + chunk.size();
    std::unique_ptr<char[]> block(new char[size]);
    std::copy(chunk.begin(), chunk.end(), std::copy(pending_.begin(), pending_.end(), block.get()));
    pending_ = {block.get(), size};
    while (step()) {
    }
    block_ = std::move(block);
  }

  const outcome& seen() const { return seen_; }
  std::size_t left() const { return pending_.size(); }

private:
  bool step() {
    const auto status = parser_.parse(pending_);
    require(parser_.memory() <= 9 * pending_.size() + 2048, "the parser's memory is bounded by what it got");
    if (status == request_parser::status::incomplete) {
      return false;
    }
    if (status == request_parser::status::malformed) {
      seen_.error = parser_.error();
      require(!seen_.error.empty(), "an error has a text");
      return false;
    }
    take(parser_.arguments(pending_));
    return !pending_.empty();
  }

  void take(const request& arguments) {
    const std::size_t consumed = parser_.consumed();
    require(consumed != 0 && consumed <= pending_.size(), "a request takes some of the bytes it got");
    std::vector<std::string> copied;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      copied.emplace_back(arguments[i]);
    }
    seen_.requests.push_back(std::move(copied));
    seen_.consumed.push_back(consumed);
    pending_.remove_prefix(consumed);
  }

  request_parser parser_;
  std::unique_ptr<char[]> block_;
  std::string_view pending_;  // in it
  outcome seen_;
};

void compare(const outcome& whole, const outcome& split, std::string_view how) {
  if (whole != split) {
    broken("bytes mean the same however they are split: " + std::string(how),
           "in one piece:\n" + printed(whole) + "split:\n" + printed(split));
  }
}

void check_requests(const outcome& seen) {
  for (const auto& arguments : seen.requests) {
    std::string text = "*" + std::to_string(arguments.size()) + "\r\n";
    for (const std::string& each : arguments) {
      text += "$" + std::to_string(each.size()) + "\r\n" + each + "\r\n";
    }
    consumer again{protocol_limits{}};
    again.give(text);
    require(again.seen().error.empty() && again.seen().requests.size() == 1 &&
                again.seen().requests[0] == arguments && again.left() == 0,
            "a request written as RESP parses to itself");
    std::string_view rest = text;
    require(parse_reply(rest).has_value() && rest.empty(), "RESP is read alike on both sides");
  }
}

protocol_limits choose_limits(std::uint8_t settings) {
  protocol_limits limits;
  if ((settings & 1) != 0) {
    limits.max_bulk = 16;
  }
  if ((settings & 2) != 0) {
    limits.max_request = 128;
  }
  return limits;
}

std::size_t chunk_size(std::uint8_t byte) {
  return byte < 192 ? byte + 1U : (byte - 191U) * 1100U;
}

// The bytes themselves, perhaps with a run of one of them that makes some line as long as is allowed.
std::string read_bytes(reader& input, std::uint8_t settings) {
  const std::size_t at = (settings & 4) != 0 ? input.byte() : 0;
  const std::size_t length = (settings & 4) != 0 ? 65526U + input.byte() % 20U : 0;
  std::string bytes(input.rest());
  if (at < bytes.size() && bytes[at] != '\n') {  // many empty requests teach nothing
    bytes.insert(at, length, bytes[at]);
  }
  return bytes;
}

void run(reader input) {
  const std::uint8_t settings = input.byte();
  const protocol_limits limits = choose_limits(settings);
  const std::string_view sizes = input.bytes(input.byte() % 16U);
  const std::string bytes = read_bytes(input, settings);

  consumer whole(limits);
  whole.give(bytes);
  check_requests(whole.seen());

  consumer chunked(limits);
  std::size_t chunk = 0;
  for (std::size_t at = 0; at < bytes.size(); ++chunk) {
    const auto byte =
        sizes.empty() ? std::uint8_t{6} : static_cast<std::uint8_t>(sizes[chunk % sizes.size()]);
    // Of a long input only where the limit of a line is met, one byte at a time.
    const bool is_limit = at >= 65500 && at <= 65560;
    std::size_t size = bytes.size() < 65500 ? chunk_size(byte) : is_limit ? 1 : 64 * chunk_size(byte);
    size = at < 65500 ? std::min(size, 65500 - at) : size;
    std::string part = bytes.substr(at, size);
    at += part.size();
    if (is_planted("property") && part.size() == 3) {
      part.pop_back();
    }
    chunked.give(part);
    if (at == bytes.size()) {
      compare(whole.seen(), chunked.seen(), "in chunks");
    }
  }
  if (bytes.size() <= most_bytewise) {
    consumer bytewise(limits);
    for (const char& byte : bytes) {
      bytewise.give({&byte, 1});
    }
    compare(whole.seen(), bytewise.seen(), "byte by byte");
  }
}

}  // namespace

}  // namespace kv::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kv::fuzz::begin({reinterpret_cast<const char*>(data), size});
  kv::fuzz::run({data, size});
  return 0;
}
