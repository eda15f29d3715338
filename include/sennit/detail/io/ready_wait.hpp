// Waiting for a file descriptor without a stack (become.hpp).
#pragma once

#include <cstdint>

#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/io/source.hpp"
#include "sennit/detail/sched/wait.hpp"

namespace sennit::detail {

// The wait is an operation on the source while it lasts. When it is moved it has ended: then its worker is
// about to go on with the fiber.
class ready_wait_base : public continuation_wait {
public:
  ready_wait_base(io_source* source, bool reads) noexcept : source_(source), reads_(reads) {}
  ready_wait_base(ready_wait_base&& other) noexcept
      : source_(other.source_), reads_(other.reads_), in_time_(other.in_time_) {}
  ~ready_wait_base();

  bool file(fiber& f) noexcept { return file(f, f); }
  bool withdraw(fiber& f) noexcept { return source_leave(side(), f); }
  void end(fiber&, std::uintptr_t, fiber_status) noexcept {}

  // For timed_wait.
  bool file(fiber& f, waiter& me) noexcept;
  bool leave(waiter& me) noexcept;
  bool end_by(time_point, bool in_time) const noexcept { return in_time || in_time_; }

private:
  bool is_ready() const noexcept;
  io_side& side() const noexcept { return reads_ ? source_->reading : source_->writing; }

  io_source* source_;
  waiter* me_ = nullptr;  // of a local runtime: who is to be taken out where that ends
  bool reads_;
  bool shared_ = false;
  bool waits_ = false;    // an operation on the source goes on
  bool in_time_ = false;  // whoever was first: it was ready when the wait ended
};

template <bool Reading>
struct ready_wait : ready_wait_base {
  static constexpr const char* reason = Reading ? "readable" : "writable";
  explicit ready_wait(io_source* source) noexcept : ready_wait_base(source, Reading) {}
};

}  // namespace sennit::detail
