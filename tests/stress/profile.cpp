// A profiler as programs have them in their own process: SIGPROF a thousand times per second of processor
// time, whose handler unwinds the interrupted thread, wherever it is.
#include <link.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "stress/stress.hpp"

namespace stress {

namespace {

std::atomic<unsigned long> samples, frames;
std::uintptr_t unwinder_low, unwinder_high;

// The shared object that the unwinder is in.
int find_unwinder(dl_phdr_info* object, std::size_t, void*) {
  const auto unwinder = reinterpret_cast<std::uintptr_t>(&_Unwind_Resume);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t low = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && unwinder >= low && unwinder < low + segment.p_memsz) {
      unwinder_low = low;
      unwinder_high = low + segment.p_memsz;
    }
  }
  return 0;
}

std::uintptr_t pc_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#endif
}

_Unwind_Reason_Code add_frame(_Unwind_Context* frame, void* left) {
  frames.fetch_add(1, std::memory_order_relaxed);
  return _Unwind_GetIP(frame) != 0 && --*static_cast<int*>(left) > 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void on_sample(int, siginfo_t*, void* context) {
  if (const std::uintptr_t pc = pc_of(context); pc >= unwinder_low && pc < unwinder_high)
    return;
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
  dl_iterate_phdr(find_unwinder, nullptr);
  action.sa_sigaction = on_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART | (on_alternate_stack ? SA_ONSTACK : 0);
  sigaction(SIGPROF, &action, nullptr);
  set_timer(1000);
}

void end_profile() {
  set_timer(0);
  std::printf("%lu samples, %lu frames\n", samples.load(), frames.load());
}

}  // namespace stress
