// Waiting for a file descriptor without a stack (become.hpp).
#pragma once

#include <cstdint>

#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/io/source.hpp"

namespace sennit::detail {

// The wait is an operation on the source while it lasts. When it is moved it has ended: then its worker is
// about to go on with the fiber.
class ready_wait_base : public continuation_wait {
public:
  ready_wait_base(io_source* source, bool reads) noexcept : source_(source), reads_(reads) {}
  ready_wait_base(ready_wait_base&& other) noexcept : ready_wait_base(other.source_, other.reads_) {}
  ~ready_wait_base();

  bool file(fiber& f) noexcept;
  bool withdraw(fiber& f) noexcept;
  void end(fiber&, std::uintptr_t, fiber_status) noexcept {}

private:
  io_side& side() const noexcept { return reads_ ? source_->reading : source_->writing; }
  bool is_ready() const noexcept;

  io_source* source_;
  fiber* local_ = nullptr;  // who waits, of a local runtime
  bool reads_;
  bool shared_ = false;
  bool waits_ = false;  // an operation on the source goes on
};

template <bool Reading>
struct ready_wait : ready_wait_base {
  static constexpr const char* reason = Reading ? "readable" : "writable";
  explicit ready_wait(io_source* source) noexcept : ready_wait_base(source, Reading) {}
};

}  // namespace sennit::detail
