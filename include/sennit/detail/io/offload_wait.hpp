// Waiting for an offloaded call without a stack (become.hpp).
#pragma once

#include <cstdint>
#include <utility>

#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/io/offload.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

// Has a pool call the job. The function gets 0 if it was called, or the error, negated: that no thread could
// be started, or -ETIMEDOUT.
//
// If the runtime ends first, a job that was not called yet is withdrawn. One that runs is waited for, unless
// the wait has got the pointer that owns it: such a job then belongs to the pool, and the pointer is null.
class offload_wait : public continuation_wait {
public:
  static constexpr const char* reason = "offload";
  static constexpr bool in_slot = true;
  explicit offload_wait(offload_job& job) noexcept : job_(&job) {}
  explicit offload_wait(owner<offload_job>& of) noexcept : job_(of.get()), owner_(&of) {}
  offload_wait(offload_wait&& other) noexcept
      : job_(other.job_),
        owner_(other.owner_),
        error_(other.error_),
        begun_(std::exchange(other.begun_, false)) {}
  ~offload_wait() {
    if (begun_)
      finish();
  }

  bool file(fiber& f) noexcept { return file(f, f); }
  bool withdraw(fiber& f) noexcept { return leave(f); }
  int end(fiber&, std::uintptr_t, fiber_status) noexcept { return finish(); }

  // For timed_wait.
  bool file(fiber& f, waiter& me) noexcept;
  bool leave(waiter& me) noexcept;
  int end_by(time_point, bool) noexcept { return finish(); }

private:
  int finish() noexcept;

  offload_job* job_;
  owner<offload_job>* owner_ = nullptr;
  int error_ = 0;
  bool begun_ = false;
};

}  // namespace sennit::inline v0_1::detail
