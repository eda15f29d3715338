// How a stop token ends a wait without a stack (stop.hpp is about those with one).
#pragma once

#include <optional>
#include <stop_token>
#include <utility>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

struct stop_notice;

// Lies with the wait, which does not move meanwhile. As with a deadline, of a parallel runtime the wait's
// claim says who came first; a fiber of a local one is taken out of where it waits on its worker's thread,
// where a stop that was requested on another one comes as a post.
class token_watch {
public:
  // Throws std::bad_alloc, except in fibers of parallel runtimes. (Outside of fibers: a local one may be
  // begun by it.)
  explicit token_watch(std::stop_token token);
  // Before arm(), or when the wait is over: a stop may be requested meanwhile, and ends nothing.
  token_watch(token_watch&& other) noexcept
      : token_((other.callback_.reset(), std::move(other.token_))),
        notice_(std::exchange(other.notice_, nullptr)) {}
  ~token_watch() { end(); }

  // Once, when `who` is where its waker finds it; of a parallel runtime, before its claim is parked. If the
  // stop has been requested, the wait ends in here.
  void arm(fiber& who, wait_claim* claim) noexcept;
  // The wait is over. True: a stop has ended it. (Of a local runtime the fiber's status says so.)
  bool end() noexcept;

  const std::stop_token& token() const noexcept { return token_; }

private:
  struct tell {
    token_watch& of;
    void operator()() const noexcept { of.stop(); }
  };
  void stop() noexcept;

  std::stop_token token_;
  stop_notice* notice_ = nullptr;  // of a local runtime
  fiber* who_ = nullptr;
  wait_claim* claim_ = nullptr;  // of a parallel runtime
  bool ended_ = false;
  std::optional<std::stop_callback<tell>> callback_;  // gone first: then nobody calls stop() any more
};

}  // namespace sennit::detail
