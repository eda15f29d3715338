// How a stop token ends a wait without a stack. For waits with one, see stop.hpp.
#pragma once

#include <optional>
#include <stop_token>
#include <utility>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::inline v0_1::detail {

struct stop_notice;

// Lies with the wait, and does not move meanwhile. In a parallel runtime the wait's claim decides, as for a
// deadline. A fiber of a local runtime is removed from what it waits for on its worker's thread. A stop that
// was requested on another thread arrives there as a post.
class token_watch {
public:
  // Throws std::bad_alloc, except in fibers of parallel runtimes. (Outside of fibers, it may be for a fiber
  // of a local runtime.)
  explicit token_watch(std::stop_token token);
  // Before arm(), or after the wait. A stop requested during the move ends nothing.
  token_watch(token_watch&& other) noexcept
      : token_((other.callback_.reset(), std::move(other.token_))),
        notice_(std::exchange(other.notice_, nullptr)) {}
  ~token_watch() { end(); }

  // Once, when `who` is where its waker finds it; in a parallel runtime, before its claim is parked. If the
  // stop has been requested, this ends the wait.
  void arm(fiber& who, wait_claim* claim) noexcept;
  // The wait is over. Returns true if a stop has ended it. (In a local runtime, see the fiber's status.)
  bool end() noexcept;

  const std::stop_token& token() const noexcept { return token_; }

private:
  struct on_stop {
    token_watch& of;
    void operator()() const noexcept { of.stop(); }
  };
  void stop() noexcept;

  std::stop_token token_;
  stop_notice* notice_ = nullptr;  // (local runtimes)
  fiber* who_ = nullptr;
  wait_claim* claim_ = nullptr;  // (parallel runtimes)
  bool ended_ = false;
  std::optional<std::stop_callback<on_stop>>
      callback_;  // destroyed first: then no thread calls stop() any more
};

}  // namespace sennit::inline v0_1::detail
