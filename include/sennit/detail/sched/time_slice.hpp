// A worker's time slice. While one of its fibers runs and others could, a thread of the process requests a
// yield now and then. It sets a byte of the worker's thread that the checks in compiled code test
// (compiler/polls), or closes a page that they load from.
//
// The thread begins with the first runtime that has a slice. It looks at each worker that runs fibers once
// per slice, even if only one fiber can run there. It sleeps while no worker of such a runtime has a fiber to
// run. (To skip workers with one fiber, every spawn and wake would have to test for slices. That costs all
// programs more than a look per slice costs those that have slices. A worker that continues after a sleep
// reports that, but only after a system call.)
#pragma once

#include <atomic>

#include "sennit/detail/sched/fiber.hpp"

struct sennit_worker;

// The calling thread's flag; not 0: a yield is requested. The thread of time slices sets it, and the yield
// clears it. Initial-exec, so that a check is one instruction.
extern "C" {
extern __thread unsigned char sennit_yield_requested __attribute__((tls_model("initial-exec")));

// Called by a check's stub. Yields the running fiber if it may yield; otherwise does nothing. Keeps errno.
void sennit_forced_yield(void);
}

namespace sennit::inline v0_1::detail {

class time_slice {
public:
  // Called before the worker runs. 0: no slice. Throws std::system_error if no thread can be started.
  void set_length(clock::duration wanted);
  // begin(): the calling thread becomes the worker. end(): it is no longer the worker.
  void begin(const sennit_worker& of) noexcept {
    if (length_ != clock::duration::zero()) [[unlikely]]
      enlist(of);
  }
  void end() noexcept {
    if (length_ != clock::duration::zero()) [[unlikely]]
      withdraw();
  }
  // Called by the worker around an idle sleep.
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
  // Used by the thread of time slices, under its lock.
  const sennit_worker* of_ = nullptr;
  unsigned char* requested_ = nullptr;
  void* page_ = nullptr;
  time_point due_;  // never: the worker rested at the last look
  time_slice* next_ = nullptr;
  time_slice* previous_ = nullptr;
};

// Precondition: the thread is alive. Its flag, and its poll page or null.
void request_yield(unsigned char& flag, void* page) noexcept;
// For the calling thread.
void forget_requested_yield() noexcept;

// For tests: how often the thread looked whether a worker's fiber must yield, and whether it sleeps until a
// worker has a fiber to run.
struct time_slice_looks {
  std::uint64_t count;
  bool sleeps;
};
time_slice_looks see_time_slices() noexcept;

}  // namespace sennit::inline v0_1::detail
