// Signals on their way to fibers.
//
// A handler may run at any moment, on any thread, also on threads that know nothing of us, and also while a
// subscription ends elsewhere. All that it touches are nodes that are never freed (signal_node.hpp) and the
// eventfds in them.
#pragma once

#include <cstdint>
#include <span>

#include "sennit/detail/io/signal_node.hpp"
#include "sennit/detail/io/source.hpp"

namespace sennit::inline v0_1::detail {

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

}  // namespace sennit::inline v0_1::detail
