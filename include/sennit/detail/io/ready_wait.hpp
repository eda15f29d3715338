// Waiting for a file descriptor without a stack (become.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/io/source.hpp"

namespace sennit::detail {

// The wait is an operation on the source while it lasts. When it is moved it has ended: then its worker is
// about to go on with the fiber.
class ready_wait_base : public continuation_wait {
public:
  ready_wait_base(io_source* source, io_side io_source::* side, short events) noexcept
      : source_(source), side_(side), events_(events) {}
  ready_wait_base(ready_wait_base&& other) noexcept
      : ready_wait_base(other.source_, other.side_, other.events_) {}
  ~ready_wait_base() { leave(); }

  bool file(fiber& f) noexcept;
  bool withdraw(fiber& f) noexcept;
  void end(fiber&, std::uintptr_t, fiber_status) noexcept {}

private:
  bool is_ready(io_side& side) const noexcept;
  void leave() noexcept;

  io_source* source_;
  io_side io_source::* side_;
  std::optional<io_use> use_;
  fiber* local_ = nullptr;  // who waits, of a local runtime
  short events_;
};

template <bool Reading>
struct ready_wait : ready_wait_base {
  static constexpr const char* reason = Reading ? "readable" : "writable";
  explicit ready_wait(io_source* source) noexcept
      : ready_wait_base(source, Reading ? &io_source::reading : &io_source::writing, Reading ? 1 : 4) {}
};

}  // namespace sennit::detail
