// How C's waits begin, up to the switch, and how they end after it (sennit/detail/capi/wait.h).
//
// Each is the part of park() or parallel_block() before the switch, or the part behind it. They are for a
// fiber that waits without a deadline and that no stop can interrupt: the others wait inside of a call.
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include "error.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::capi {

// ---- A fiber of a local runtime, which its waker finds by now.

// Returns the caller's worker if the caller may begin a wait, or null.
SENNIT_INLINE detail::worker* can_begin_wait() noexcept {
  detail::worker* const w = detail::this_worker();
  return detail::direct_entry && w != nullptr && w->ready.running() && !w->ready.current->flags.stoppable
             ? w
             : nullptr;
}

// As prepare_block(), for the end of the fiber `joined`: it prefetches nothing for later fibers, like
// park_joining().
SENNIT_INLINE sennit_decision prepare_join(detail::worker& w, detail::fiber& joined) noexcept {
  const detail::wait_reason why(detail::join_reason, &joined);
  detail::fiber& self = *w.ready.current;
  detail::fiber* const next = w.until_poll > 1 ? w.ready.try_pop_current_joining(self, joined) : nullptr;
  if (next == nullptr) [[unlikely]] {
    w.ready.bring_forward(self, joined);
    return detail::prepare_block(w, detail::fiber_status::joining, why);
  }
  --w.until_poll;
  detail::set_wait_reason(self, why);
  return detail::finish_block(w, self, detail::fiber_status::joining, next);
}

SENNIT_INLINE int begin_park(detail::worker& w, detail::fiber_status as, const detail::wait_reason& why,
                             sennit_wait& wait, int (*end)(sennit_wait*, std::uintptr_t)) {
  wait.end = end;
  wait.error = detail::park_begins(w, why.text);
  wait.self = &w.ready.current->context;
  wait.step = nullptr;
  const sennit_decision to = as == detail::fiber_status::joining
                                 ? prepare_join(w, *reinterpret_cast<detail::fiber*>(why.object))
                                 : detail::prepare_block(w, as, why);
  wait.target = to.target;
  wait.value = to.value;
  if (to.target == nullptr) [[unlikely]] {
    // The step's argument is the worker, in place of the room.
    wait.step = [](sennit_context left, void*) {
      return detail::sennit_dispatch_park(left, detail::this_worker());
    };
    wait.stack = w.stack;
  }
  return SENNIT_WAITS;
}
// Its end is detail::park_ended().

// ---- A fiber of a parallel runtime.

// `file(fiber&)`, in a scheduler step, puts the fiber where its waker finds it; `place` as in wait_in().
// `room`: where they are kept until then, in the wait.
template <class File, class Place>
int begin_block(detail::parallel_worker& w, const detail::wait_reason& why, const Place& place,
                const File& file, sennit_wait& wait, int (*end)(sennit_wait*, std::uintptr_t)) {
  struct filing {
    const File file;  // first: the step's argument
    detail::place_site<Place> site;
  };
  static_assert(sizeof(filing) <= sizeof wait.room && alignof(filing) <= alignof(std::uintptr_t));
  auto& made = *::new (static_cast<void*>(wait.room)) filing{file, {why, place}};
  detail::parallel_block_begins(*w.ready.current, made.site);
  wait.end = end;
  wait.error = *w.error_number;
  wait.step = detail::parallel_dispatch_block<const File>;
  wait.stack = w.stack;
  return SENNIT_WAITS;
}
// In place of that step: `self`, which is filed by now, enters another fiber.
SENNIT_INLINE void enter_instead(detail::fiber& self, const sennit_decision& to, sennit_wait& wait) noexcept {
  wait.step = nullptr;
  wait.self = &self.context;
  wait.target = to.target;
  wait.value = to.value;
}
// Returns the waker's word. Throws forced_unwind when the runtime ends.
SENNIT_INLINE std::uintptr_t block_ended(const sennit_wait& wait, std::uintptr_t word) {
  return detail::parallel_block_ended(wait.error, word);
}

}  // namespace sennit::inline v0_1::capi
