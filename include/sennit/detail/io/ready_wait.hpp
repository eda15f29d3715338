// Waiting for a file descriptor without a stack (become.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/io/source.hpp"
#include "sennit/detail/sched/wait.hpp"

namespace sennit::detail {

// The wait is an operation on the source while it lasts. When it is moved it has ended: then its worker is
// about to go on with the fiber.
class ready_wait_base : public continuation_wait {
public:
  ready_wait_base(io_source* source, bool reads) noexcept : source_(source), reads_(reads) {}
  ready_wait_base(ready_wait_base&& other) noexcept : ready_wait_base(other.source_, other.reads_) {}
  ~ready_wait_base();

  bool file(fiber& f) noexcept { return file_as(f, f); }
  bool withdraw(fiber&) noexcept { return leave(); }
  void end(fiber&, std::uintptr_t, fiber_status) noexcept {}

  // Whether there is something now, as far as can be known without an attempt.
  bool is_ready() const noexcept;
  // `me`: the fiber, or a claimed_waiter of its wait.
  bool file_as(waiter& me, fiber& f) noexcept;
  // Ends the wait from here. False: an event does, or has.
  bool leave() noexcept;
  bool waits() const noexcept { return waits_; }

private:
  io_side& side() const noexcept { return reads_ ? source_->reading : source_->writing; }

  io_source* source_;
  waiter* me_ = nullptr;
  bool reads_;
  bool shared_ = false;
  bool waits_ = false;  // an operation on the source goes on
};

template <bool Reading>
struct ready_wait : ready_wait_base {
  static constexpr const char* reason = Reading ? "readable" : "writable";
  explicit ready_wait(io_source* source) noexcept : ready_wait_base(source, Reading) {}
};

// The same until a deadline. Brings whether it was ready in time.
class timed_ready_wait_base : public continuation_wait {
public:
  timed_ready_wait_base(io_source* source, bool reads, time_point deadline) noexcept
      : wait_(source, reads), deadline_(deadline) {}
  timed_ready_wait_base(timed_ready_wait_base&& other) noexcept
      : wait_(std::move(other.wait_)), deadline_(other.deadline_), in_time_(other.ended_in_time()) {}
  ~timed_ready_wait_base() { leave(); }

  bool withdraw(fiber&) noexcept { return claim_->withdraw(); }
  bool end(fiber&, std::uintptr_t, fiber_status) noexcept { return in_time_; }

protected:
  bool file_as(fiber& f, const char* reason) noexcept;

private:
  bool ended_in_time() noexcept;
  void leave() noexcept;

  ready_wait_base wait_;
  time_point deadline_;
  bool in_time_ = true;
  bool left_ = false;                  // the wait has ended, and nobody knows of it any more
  std::optional<local_timer> timer_;   // of a local runtime
  std::optional<claimed_wait> claim_;  // of a parallel one
};

template <bool Reading>
struct timed_ready_wait : timed_ready_wait_base {
  static constexpr const char* reason = ready_wait<Reading>::reason;
  timed_ready_wait(io_source* source, time_point deadline) noexcept
      : timed_ready_wait_base(source, Reading, deadline) {}
  bool file(fiber& f) noexcept { return file_as(f, reason); }
};

}  // namespace sennit::detail
