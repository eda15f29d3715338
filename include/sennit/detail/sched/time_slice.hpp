// A worker's time slice: while one of its fibers runs and others could, a thread of the process asks now and
// then for a yield, by a byte of the worker's thread that the checks in compiled code test (compiler/polls).
//
// The thread begins with the first runtime that has a slice, and sleeps while no worker of such a one runs.
#pragma once

#include "sennit/detail/sched/fiber.hpp"

struct sennit_worker;

// The calling thread's: not 0, a yield is requested. Set by the thread of time slices, cleared by the yield.
// Initial-exec, so that a check is one instruction.
extern "C" {
extern __thread unsigned char sennit_yield_requested __attribute__((tls_model("initial-exec")));

// Called by a check's stub. Yields the fiber that runs, if it may; errno is kept. Else does nothing.
void sennit_forced_yield(void);
}

namespace sennit::detail {

class time_slice {
public:
  // Before the worker runs. 0, or below: none. Throws std::system_error when there can be no thread.
  void set_length(clock::duration wanted);
  // The calling thread is the worker, and is it no more.
  void begin(const sennit_worker& of) noexcept {
    if (length_ != clock::duration::zero()) [[unlikely]]
      enlist(of);
  }
  void end() noexcept {
    if (length_ != clock::duration::zero()) [[unlikely]]
      withdraw();
  }

private:
  friend struct time_slices;

  void enlist(const sennit_worker& of) noexcept;
  void withdraw() noexcept;

  clock::duration length_{0};
  // Of the thread of time slices, under its lock.
  const sennit_worker* of_ = nullptr;
  unsigned char* requested_ = nullptr;
  time_point due_;
  time_slice* next_ = nullptr;
  time_slice* previous_ = nullptr;
};

}  // namespace sennit::detail
