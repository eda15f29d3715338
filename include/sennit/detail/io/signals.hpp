// Signals on their way to fibers.
//
// A handler may run at any moment, on any thread, also on threads that know nothing of us, and also while a
// subscription ends elsewhere. All that it touches are the atomics of nodes that are never freed and the
// eventfds in them; the end of a subscription waits until no handler is inside its node.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "sennit/detail/io/source.hpp"

namespace sennit::detail {

// Bit n - 1 of a mask stands for signal n.
struct signal_node {
  std::atomic<std::uint64_t> wanted{0};   // the subscription's signals; 0: the node is free, or about to be
  std::atomic<std::uint64_t> pending{0};  // set by handlers, taken by who waits
  std::atomic<unsigned> inside{0};        // handlers that may be using `event`
  std::atomic<int> event{-1};             // the subscription's eventfd
  bool taken = false;                     // under the lock
  signal_node* next = nullptr;            // all nodes; constant
};

class signal_subscription {
public:
  explicit signal_subscription(std::span<const int> signals);
  ~signal_subscription();
  signal_subscription(const signal_subscription&) = delete;
  signal_subscription& operator=(const signal_subscription&) = delete;

  // A signal, or an errno, negated.
  int wait(time_point deadline);

private:
  owned_source source_;
  std::uint64_t signals_ = 0;
  signal_node* node_ = nullptr;
};

}  // namespace sennit::detail
