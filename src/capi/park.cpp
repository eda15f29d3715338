// The calls of C's inline waits, and what these assume about the scheduler's numbers.
#include "sennit/detail/capi/park.h"

#include "begin_wait.hpp"

using namespace sennit;

static_assert(SENNIT_NEXT_SLOT_BUDGET == detail::next_slot_budget);
static_assert(SENNIT_STATUS_WAITING == static_cast<int>(detail::fiber_status::waiting));
static_assert(SENNIT_STATUS_JOINING == static_cast<int>(detail::fiber_status::joining));
static_assert(SENNIT_STATUS_NOTIFIED == static_cast<int>(detail::fiber_status::notified));
static_assert(SENNIT_STATUS_FINISHED == static_cast<int>(detail::fiber_status::finished));
static_assert(SENNIT_STATUS_BEGINS == static_cast<int>(detail::fiber_status::begins));

// What else park_begins() does; C has looked for held locks.
SENNIT_INLINE static void note_wait(const sennit_worker& w, [[maybe_unused]] const char* reason) {
  detail::stack_should_be_whole(*w.ready.current);
  detail::count_site();
  detail::count_block(reason);
}

sennit_decision sennit_prepare_park(sennit_worker* worker, const char* reason, const void* object) {
  note_wait(*worker, reason);
  return detail::prepare_block(*worker, detail::fiber_status::waiting, {reason, object});
}

sennit_decision sennit_prepare_join(sennit_worker* worker, sennit_fiber_front* joined) {
  note_wait(*worker, detail::join_reason);
  return capi::prepare_join(*worker, *reinterpret_cast<detail::fiber*>(joined));
}

uintptr_t sennit_park_by_step(sennit_worker* worker) {
  return detail::suspend(*worker, detail::sennit_dispatch_park, worker);
}

uintptr_t sennit_park_at_end(uintptr_t word) {
  return detail::throw_if_shutting_down(*detail::this_worker(), word);
}

void sennit_make_ready(sennit_fiber_front* fiber) {
  auto& woken = *reinterpret_cast<detail::fiber*>(fiber);
  woken.home->ready.add_woken(&woken);
}
