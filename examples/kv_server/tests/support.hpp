// Helpers of the tests: requests written and replies collected as Redis clients do.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "session.hpp"

namespace kv::test {

inline std::string bulk(std::string_view text) {
  std::string coded = "$";
  return coded.append(std::to_string(text.size())).append("\r\n").append(text).append("\r\n");
}

// A request as clients send it: an array of bulk strings.
inline std::string encode(std::initializer_list<std::string_view> arguments) {
  std::string text = "*";
  text.append(std::to_string(arguments.size())).append("\r\n");
  for (const std::string_view each : arguments) {
    text.append(bulk(each));
  }
  return text;
}

inline std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

inline std::unique_ptr<server_state> make_server(const settings& config = {}) {
  return std::make_unique<server_state>(config);
}

// A client whose writes arrive at the session in pieces, and who reads every reply.
class test_client {
public:
  explicit test_client(server_state& server, std::uint64_t id = 1, front* side = nullptr)
      : session_(server, server.shared, id, side) {}

  // Sends `bytes`, at most `piece` at a time, and returns the replies; see closed() after it.
  std::string send(std::string_view bytes, std::size_t piece = SIZE_MAX) {
    std::string replies;
    while (!bytes.empty() && !closed_) {
      const std::span<char> space = session_.receive_space();
      const std::size_t count = std::min({space.size(), bytes.size(), piece});
      std::memcpy(space.data(), bytes.data(), count);
      session_.received(count);
      bytes.remove_prefix(count);
      replies += drain();
    }
    return replies;
  }

  // What there is to be had without sending anything.
  std::string drain() {
    std::string replies;
    for (;;) {
      const session::outcome outcome = session_.process();
      largest_output_ = std::max(largest_output_, session_.output().size());
      replies += session_.output();
      session_.output_sent();
      closed_ = outcome == session::outcome::close;
      if (outcome == session::outcome::compute) {
        session_.compute();
      } else if (outcome != session::outcome::more) {
        return replies;
      }
    }
  }

  bool closed() const { return closed_; }
  std::size_t largest_output() const { return largest_output_; }
  session& raw() { return session_; }

private:
  session session_;
  bool closed_ = false;
  std::size_t largest_output_ = 0;
};

}  // namespace kv::test
