// Accepting a connection without a stack (become.hpp). Only if file descriptors run out does the fiber wait
// with a stack, until it may try again.
#pragma once

#include <cstdint>
#include <limits>

#include "sennit/detail/io/listener.hpp"
#include "sennit/detail/io/ready_wait.hpp"

namespace sennit::inline v0_1::detail {

// One operation on the listener until the object is destroyed. The function gets a file descriptor, which it
// owns, or an errno, negated. `from` may be null.
class accept_wait : public ready_wait_base {
public:
  static constexpr const char* reason = "accept";
  explicit accept_wait(listener* from) noexcept
      : ready_wait_base(from != nullptr ? from->source.get() : nullptr, true), from_(from) {}

  bool is_over() noexcept;
  int end(fiber&, std::uintptr_t, fiber_status) { return finish(); }

private:
  static constexpr int nothing_yet = std::numeric_limits<int>::min();
  int finish();

  int result_ = nothing_yet;
  listener* from_;
};

}  // namespace sennit::inline v0_1::detail
