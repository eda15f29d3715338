// A profiler as programs have them in their own process: SIGPROF a thousand times per second of processor
// time, whose handler unwinds the interrupted thread, wherever it is.
#include <signal.h>
#include <sys/time.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "stress/stress.hpp"

namespace stress {

namespace {

std::atomic<unsigned long> samples, frames;

_Unwind_Reason_Code add_frame(_Unwind_Context* frame, void* left) {
  frames.fetch_add(1, std::memory_order_relaxed);
  return _Unwind_GetIP(frame) != 0 && --*static_cast<int*>(left) > 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void on_sample(int) {
  const int error = errno;
  int left = 256;
  _Unwind_Backtrace(add_frame, &left);
  samples.fetch_add(1, std::memory_order_relaxed);
  errno = error;
}

void set_timer(suseconds_t microseconds) {
  const itimerval interval{{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_PROF, &interval, nullptr);
}

}  // namespace

void begin_profile(bool on_alternate_stack) {
  struct sigaction action = {};
  action.sa_handler = on_sample;
  action.sa_flags = SA_RESTART | (on_alternate_stack ? SA_ONSTACK : 0);
  sigaction(SIGPROF, &action, nullptr);
  set_timer(1000);
}

void end_profile() {
  set_timer(0);
  std::printf("%lu samples, %lu frames\n", samples.load(), frames.load());
}

}  // namespace stress
