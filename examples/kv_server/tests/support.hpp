// Helpers of the tests: requests written and replies collected as Redis clients do.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "session.hpp"

namespace kv::test {

inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// An array of bulk strings: a request as clients send it, or a reply.
inline std::string encode(const std::vector<std::string>& arguments) {
  std::string text = "*" + std::to_string(arguments.size()) + "\r\n";
  for (const std::string& each : arguments) {
    text += bulk(each);
  }
  return text;
}

inline std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

// A client whose writes arrive at the session in pieces, and which reads every reply.
class test_client final : public front {
public:
  explicit test_client(server_state& server, std::uint64_t id = 1)
      : session_(server, server.shared, id, *this) {}

  void wake() override { ++woken; }
  void break_off() override { ++broken_off; }
  bool is_gone() override { return gone; }

  // The bytes arrive, at most `piece` at a time. Returns the replies, of everything that can be executed.
  std::string send(std::string_view bytes, std::size_t piece = SIZE_MAX) {
    std::string replies;
    while (!bytes.empty() && !closed()) {
      replies += arrive(bytes, piece);
      while (outcome_ == session::outcome::more || outcome_ == session::outcome::compute) {
        replies += step();
      }
    }
    return replies;
  }
  // The same, but what follows the first portion of a command is left to step().
  std::string begin(std::string_view bytes) {
    std::string replies;
    while (!bytes.empty() && !closed()) {
      replies += arrive(bytes, SIZE_MAX);
    }
    return replies;
  }
  // Computes, or processes once.
  std::string step() {
    if (outcome_ == session::outcome::compute) {
      session_.compute();
    }
    outcome_ = session_.process();
    std::string replies(session_.output());
    largest_output = std::max(largest_output, replies.size());
    session_.output_sent();
    return replies;
  }
  bool is_done() const { return outcome_ == session::outcome::wait || closed(); }
  bool computes() const { return outcome_ == session::outcome::compute; }
  bool closed() const { return outcome_ == session::outcome::close; }
  session& raw() { return session_; }

  int woken = 0, broken_off = 0;
  bool gone = false;
  std::size_t largest_output = 0;

private:
  std::string arrive(std::string_view& bytes, std::size_t piece) {
    const std::span<char> space = session_.receive_space();
    const std::size_t count = std::min({space.size(), bytes.size(), piece});
    std::memcpy(space.data(), bytes.data(), count);
    session_.received(count);
    bytes.remove_prefix(count);
    return step();
  }

  session session_;
  session::outcome outcome_ = session::outcome::wait;
};

}  // namespace kv::test
