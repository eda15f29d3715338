// A worker's time slice: while one of its fibers runs and others could, a thread of the process asks now and
// then for a yield, by a byte of the worker's thread that the checks in compiled code test (compiler/polls),
// or by a page that they load from.
//
// The thread begins with the first runtime that has a slice. It looks at each worker that runs fibers once in
// its slice, also while only one fiber can run there, and sleeps while no worker of such a runtime has any to
// run. (That a second fiber can run would have to be said where a fiber is made ready: a test in every spawn
// and wake, which is more, in all programs, than a look in every slice in those that have slices. That a
// worker goes on is said after a system call.)
#pragma once

#include <atomic>

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
  // Between the two, both the worker's, it waits for somebody to run.
  void rest() noexcept {
    if (length_ != clock::duration::zero()) [[unlikely]]
      rests_.store(true, std::memory_order_relaxed);
  }
  void go_on() noexcept {
    if (length_ != clock::duration::zero()) [[unlikely]]
      resume();
  }

private:
  friend struct time_slices;

  void enlist(const sennit_worker& of) noexcept;
  void withdraw() noexcept;
  void resume() noexcept;

  clock::duration length_{0};
  std::atomic<bool> rests_{false};
  // Of the thread of time slices, under its lock.
  const sennit_worker* of_ = nullptr;
  unsigned char* requested_ = nullptr;
  void* page_ = nullptr;
  time_point due_;  // never: at the last look it did rest
  time_slice* next_ = nullptr;
  time_slice* previous_ = nullptr;
};

// Of a thread that has not ended: its flag, and its poll page or null.
void request_yield(unsigned char& flag, void* page) noexcept;
// The calling thread's.
void forget_requested_yield() noexcept;

// For tests: how often it was looked whether a worker's fiber is to yield, and whether the thread sleeps
// until a worker has somebody to run.
struct time_slice_looks {
  std::uint64_t count;
  bool sleeps;
};
time_slice_looks see_time_slices() noexcept;

}  // namespace sennit::detail
