// Waiting for a file descriptor without a stack (become.hpp).
#pragma once

#include <cstdint>
#include <utility>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/io/source.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

// One operation on the source, from file() until the object is destroyed, which is before the fiber's
// function is called. It moves with the object.
class ready_wait_base : public continuation_wait {
public:
  static constexpr bool in_slot = true;
  ready_wait_base(io_source* source, bool reads) noexcept : source_(source), reads_(reads) {}
  ready_wait_base(ready_wait_base&& other) noexcept
      : source_(other.source_),
        reads_(other.reads_),
        shared_(other.shared_),
        begun_(std::exchange(other.begun_, false)),
        came_(other.came_) {}
  ~ready_wait_base();

  bool file(fiber& f) noexcept { return file(f, f); }
  SENNIT_PLACE_OF(source_at, ready_wait_base, source_)
  static constexpr std::size_t object_at() noexcept { return source_at() + is_descriptor; }
  bool withdraw(fiber& f) noexcept { return source_leave(side(), f); }
  void end(fiber&, std::uintptr_t, fiber_status) noexcept {}

  // For timed_wait. What came in time is not late where a worker looks at its timers first.
  bool file(fiber& f, waiter& me) noexcept;
  bool leave(waiter& me) noexcept;
  bool end_by(time_point, bool in_time) const noexcept { return in_time || came_; }

protected:
  // Begins the operation, unless it has begun. Returns 0, -ECANCELED or -EBUSY.
  int begin(bool shared) noexcept;
  bool begun() const noexcept { return begun_; }
  io_source* source() const noexcept { return source_; }
  waiter& me() const noexcept { return *me_; }
  bool reads() const noexcept { return reads_; }
  io_side& side() const noexcept { return reads_ ? source_->reading : source_->writing; }

private:
  std::uint32_t use() const noexcept { return reads_ ? io_use::reading : io_use::writing; }
  // Whether there is something now, as far as can be known without an attempt.
  bool is_ready() const noexcept;

  io_source* source_;
  waiter* me_ = nullptr;
  bool reads_;
  bool shared_ = false;
  bool begun_ = false;
  bool came_ = false;  // when it left
};

template <bool Reading>
struct ready_wait : ready_wait_base {
  static constexpr const char* reason = Reading ? "readable" : "writable";
  explicit ready_wait(io_source* source) noexcept : ready_wait_base(source, Reading) {}
};

}  // namespace sennit::inline v0_1::detail
