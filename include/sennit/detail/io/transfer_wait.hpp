// A transfer without a stack (become.hpp). The driver makes the transfer in its own context when it sees the
// event. The fiber resumes when the transfer is complete, not for events without data or with a part of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/io/ready_wait.hpp"
#include "sennit/io_result.hpp"

namespace sennit::inline v0_1::detail {

// Reads the data that has come, or writes all. The fiber itself does the rest when the wait ends. It is one
// operation on the source until the object is destroyed.
class transfer_wait_base : public ready_wait_base {
public:
  transfer_wait_base(io_source* source, void* at, std::size_t size, bool reads) noexcept
      : ready_wait_base(source, reads), at_(static_cast<char*>(at)), size_(size) {}

  bool woken(fiber& f) noexcept;
  bool is_over() noexcept;
  io_result end(fiber&, std::uintptr_t, fiber_status) { return finish(never); }
  io_result end_by(time_point deadline, bool in_time) {
    return finish(in_time ? deadline : time_point::min());
  }

private:
  // As much as can be done at once. True: that is all there was to do.
  bool attempt() noexcept;
  // The rest, on a stack. Returns 0, or an errno, negated.
  int transfer(time_point deadline);
  io_result finish(time_point deadline);

  char* at_;
  std::size_t size_;
  std::size_t moved_ = 0;
  int error_ = 0;
  bool done_ = false;
};

template <bool Reading>
struct transfer_wait : transfer_wait_base {
  static constexpr const char* reason = ready_wait<Reading>::reason;
  transfer_wait(io_source* source, void* at, std::size_t size) noexcept
      : transfer_wait_base(source, at, size, Reading) {}
};

}  // namespace sennit::inline v0_1::detail
