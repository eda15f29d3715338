// The function that a check in compiled code calls when a yield was requested.
//
// The code around the check does not expect a yield. So nothing is thrown through it, and the fiber resumes
// on the same worker: a register may hold the address of a thread-local variable. A fiber with a yield
// continuation continues with that, if nothing on its stack must be destroyed.
#include <signal.h>

#include <cerrno>

#include "cont/discard.hpp"
#include "parallel/pinned_for_now.hpp"
#include "sennit/detail/fault/poll_page.hpp"
#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/wait/stop.hpp"
#include "sennit/no_yield_guard.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// Hides a forced yield from the fiber. Changes that others make meanwhile stay.
class undisturbed {
public:
  undisturbed(worker& w, fiber& f) noexcept
      : fiber_(f),
        pinned_(w, f),
        yields_(f.flags.slow_path & has_yield_continuation),
        error_(*w.error_number) {
    f.flags.slow_path &= static_cast<std::uint8_t>(~has_yield_continuation);
  }
  ~undisturbed() {
    fiber_.flags.slow_path |= yields_;
    *this_worker()->error_number = error_;
  }
  undisturbed(const undisturbed&) = delete;
  undisturbed& operator=(const undisturbed&) = delete;

private:
  fiber& fiber_;
  const pinned_for_now pinned_;
  const std::uint8_t yields_;
  const int error_;
};

bool runs_on(const stack_memory& stack) noexcept {
  return stack.holds(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
}

// Returns false in the middle of the scheduler's work: on a scheduler step's stack, or when about to leave
// its own stack.
bool runs_own_code(const worker& w) noexcept {
  return w.ready.running() && !w.ready.current->is_parked() && !runs_on(w.stack_memory);
}

// A handler that runs on the fiber's own stack looks like the fiber. Elsewhere (a coroutine, a handler) this
// asks the system, which takes several times as long as the yield.
bool in_signal_handler(const fiber& self) noexcept {
  const coroutine_frame* const frame = fiber_frame(self);
  if (frame != nullptr && frame->record.holds(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))))
    return false;
  stack_t of_signals;
  return ::sigaltstack(nullptr, &of_signals) == 0 && (of_signals.ss_flags & SS_ONSTACK) != 0;
}

// Yields by its yield continuation. Returns if that is not allowed, or if there is no memory.
void leave_by_forced_yield(const fiber& self, const void* frame) noexcept {
  if (stop_link::is_shielded() || !could_leave_frames(self, frame))
    return;
  try {
    leave_frames(continuation_of_yield(self));
  } catch (...) {  // thrown by the copies
  }
}

}  // namespace

void deferred_yield(worker& w) noexcept {
  w.yield_deferred = false;
  sennit_forced_yield();
}

void yield_at_next_check(worker& w) noexcept {
  w.yield_deferred = false;
  request_yield(sennit_yield_requested, poll_page_of_thread());
}

}  // namespace sennit::inline v0_1::detail

// `used`, for the same reason as the flag in time_slice.cpp.
extern "C" [[gnu::used]] void sennit_forced_yield(void) {
  using namespace sennit::detail;
  forget_requested_yield();
  worker* const w = this_worker();
  if (w == nullptr || w->unwinding || !runs_own_code(*w) || in_signal_handler(*w->ready.current) ||
      w->process != process_generation())  // in a forked child
    return;
  if (*no_yield_count() != 0) {
    w->yield_deferred = true;
    return;
  }
  sennit_should_hold_no_lock("is made to yield", nullptr);  // code without checks did not notice
  stack_should_be_whole(*w->ready.current);
  count_forced(true);  // with or without its stack
  if ((w->ready.current->flags.slow_path & has_yield_continuation) != 0) [[unlikely]]
    leave_by_forced_yield(*w->ready.current, __builtin_dwarf_cfa());
  const undisturbed as_if_nothing(*w, *w->ready.current);
  w->operations.yield_polling(*w);  // it may be long until another dispatch would poll
  count_forced(false);              // in case no other fiber could run
}

extern "C" void sennit_no_yield_begin(void) {
  sennit::detail::begin_no_yield();
}

extern "C" void sennit_no_yield_end(void) {
  sennit::detail::end_no_yield();
}
