// Fibers, and what a fiber does to itself.
#include <utility>

#include "become.hpp"
#include "begin_wait.hpp"
#include "error.hpp"
#include "kind.hpp"
#include "main_fiber.hpp"
#include "sennit/become.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/fiber.hpp"
#include "sennit/local/fiber.hpp"

using namespace sennit;
using capi::descriptor_of;
using capi::guarded;
using capi::in_fiber;

namespace {

// The caller's handle of a fiber of a local runtime, lent: what is not given back by a join stays the
// caller's.
class lent_handle {
public:
  explicit lent_handle(detail::fiber& f) : fiber_(f), handle(detail::handle_access::take<local::fiber>(f)) {}
  lent_handle(const lent_handle&) = delete;
  lent_handle& operator=(const lent_handle&) = delete;
  ~lent_handle() {
    if (!handle.joinable()) {
      fiber_.flags.owned = false;  // a second join is refused until the descriptor is another fiber's
      return;
    }
    fiber_.joiner = nullptr;
    static_cast<void>(detail::handle_access::release(std::move(handle)));
  }

private:
  detail::fiber& fiber_;

public:
  local::fiber handle;
};

bool is_joined_by_another(const detail::fiber& whom, bool parallel) noexcept {
  if (!parallel)
    return whom.joiner != nullptr;
  const std::uintptr_t state = whom.ended.load(std::memory_order_acquire);
  return state != detail::ended_not_yet && state != detail::ended_already;
}

int join_local(detail::fiber& whom, int64_t deadline) {
  if (whom.flags.status != detail::fiber_status::finished)
    if (!in_fiber() || whom.home != detail::this_worker() || &whom == detail::this_worker()->ready.current)
      return -EINVAL;
  return guarded([&] {
    lent_handle lent(whom);
    return lent.handle.join_until(capi::time_of(deadline)) ? 0 : -ETIMEDOUT;
  });
}

int join_parallel(detail::fiber& whom, int64_t deadline) {
  if (capi::is_caller(whom))
    return -EINVAL;
  return guarded([&] {
    if (!detail::wait_for_end(whom, capi::time_of(deadline)))
      return -ETIMEDOUT;
    capi::collect_parallel(whom);
    return 0;
  });
}

}  // namespace

// Its name is also a macro, for the inline switch.
int(sennit_fiber_join)(sennit_fiber* fiber, int64_t deadline) {
  detail::fiber* const whom = descriptor_of(fiber);
  if (whom == nullptr || !whom->flags.owned || is_joined_by_another(*whom, capi::is_parallel(fiber)))
    return -EINVAL;
  return capi::is_parallel(fiber) ? join_parallel(*whom, deadline) : join_local(*whom, deadline);
}

namespace {

[[gnu::noinline, gnu::cold]] int collect_local_slowly(detail::fiber& whom, detail::fiber& done) {
  return guarded([&] {
    lent_handle lent(whom);
    detail::handle_access::collect(lent.handle, done);
    return 0;
  });
}
SENNIT_INLINE int collect_local(detail::fiber& whom, detail::fiber& done) {
  if (done.flags.slow_path != 0) [[unlikely]]
    return collect_local_slowly(whom, done);
  whom.flags.owned = false;
  detail::recycle_fiber(*detail::this_worker(), done);
  return 0;
}

int begin_local(detail::fiber& whom, sennit_wait& wait) {
  if (whom.flags.status == detail::fiber_status::finished)
    return collect_local(whom, whom);
  detail::worker* const w = capi::can_begin_wait();
  if (w == nullptr || whom.home != w || &whom == w->ready.current) [[unlikely]]
    return join_local(whom, SENNIT_NEVER);
  wait.objects[0] = &whom;
  whom.joiner = w->ready.current;
  return capi::begin_park(*w, detail::fiber_status::joining, {detail::join_reason, &whom}, wait,
                          [](sennit_wait* of, uintptr_t word) {
                            detail::keep_errno(of->error);
                            return collect_local(*static_cast<detail::fiber*>(of->objects[0]),
                                                 *reinterpret_cast<detail::fiber*>(word));
                          });
}

int collect_parallel(detail::fiber& whom) {
  return guarded([&] {
    capi::collect_parallel(whom);
    return 0;
  });
}

int begin_parallel(detail::fiber& whom, sennit_wait& wait) {
  if (whom.ended.load(std::memory_order_acquire) == detail::ended_already)
    return collect_parallel(whom);
  detail::parallel_worker* const w = detail::can_enqueue_directly(detail::never);
  if (w == nullptr || !detail::direct_entry || &whom == w->ready.current) [[unlikely]]
    return join_parallel(whom, SENNIT_NEVER);
  wait.objects[0] = &whom;
  capi::begin_block(
      *w, {detail::join_reason, &whom},
      detail::slot_place{&whom.ended, detail::ended_not_yet, detail::ended_multi},
      [joined = &whom](detail::fiber& self) {
        return detail::observe_end(*joined, reinterpret_cast<std::uintptr_t>(&self));
      },
      wait,
      [](sennit_wait* of, uintptr_t word) {
        capi::block_ended(*of, word);
        return collect_parallel(*static_cast<detail::fiber*>(of->objects[0]));
      });
  detail::fiber& self = *w->ready.current;
  const sennit_decision to = detail::parallel_prepare_join(*w, whom);
  if (to.target != nullptr)
    capi::enter_instead(self, to, wait);
  return SENNIT_WAITS;
}

}  // namespace

int sennit_fiber_begin_join(sennit_fiber* fiber, int64_t deadline, sennit_wait* wait) {
  detail::fiber* const whom = descriptor_of(fiber);
  if (deadline != SENNIT_NEVER || whom == nullptr || !whom->flags.owned ||
      is_joined_by_another(*whom, capi::is_parallel(fiber))) [[unlikely]]
    return (sennit_fiber_join)(fiber, deadline);
  return capi::is_parallel(fiber) ? begin_parallel(*whom, *wait) : begin_local(*whom, *wait);
}

int sennit_fiber_collect(sennit_fiber* fiber, sennit_fiber_front* done) {
  return collect_local(*descriptor_of(fiber), *reinterpret_cast<detail::fiber*>(done));
}

namespace {

// A join whose error becomes the result. After a deadline the handle is the caller's again.
template <class Handle>
class c_join_wait : public detail::join_wait<Handle> {
  using base = detail::join_wait<Handle>;

public:
  explicit c_join_wait(detail::fiber& f) noexcept
      : base(detail::handle_access::take<Handle>(f)), joined_(&f) {}
  int end(detail::fiber& self, std::uintptr_t word, detail::fiber_status why) {
    joined_->flags.owned = false;
    return guarded([&] {
      base::end(self, word, why);
      return 0;
    });
  }
  int end_by(detail::time_point deadline, bool in_time) {
    joined_->flags.owned = false;  // by now another's, if it is joined
    return guarded([&] {
      Handle left = base::end_by(deadline, in_time);
      if (!left.joinable())
        return 0;
      detail::join_access::of(left).flags.owned = true;
      static_cast<void>(detail::handle_access::release(std::move(left)));
      return -ETIMEDOUT;
    });
  }

private:
  detail::fiber* joined_;
};

template <class Handle>
int become_joining(const void* frame, detail::fiber& whom, sennit_result_function function, const void* state,
                   size_t size, int64_t deadline) {
  return capi::become_with_result("sennit_fiber_become_joining", frame, c_join_wait<Handle>(whom), function,
                                  state, size, deadline);
}

}  // namespace

int sennit_fiber_become_joining(sennit_fiber* fiber, sennit_result_function function, const void* state,
                                size_t size, int64_t deadline) {
  detail::fiber* const whom = descriptor_of(fiber);
  if (whom == nullptr || !whom->flags.owned || !in_fiber() || capi::is_caller(*whom) ||
      is_joined_by_another(*whom, capi::is_parallel(fiber)))
    return -EINVAL;
  const void* const frame = __builtin_dwarf_cfa();
  if (capi::is_parallel(fiber))
    return capi::in_local_fiber()
               ? -EINVAL
               : become_joining<sennit::fiber>(frame, *whom, function, state, size, deadline);
  return whom->home != detail::this_worker()
             ? -EINVAL
             : become_joining<local::fiber>(frame, *whom, function, state, size, deadline);
}

void sennit_fiber_detach(sennit_fiber* fiber) {
  if (fiber == nullptr)
    return;
  detail::fiber& whom = *descriptor_of(fiber);
  if (!whom.flags.owned)
    detail::fatal_empty_handle("sennit_fiber_detach");
  if (capi::is_caller(whom) && capi::main_fiber::is(whom))
    detail::fatal_misuse(
        "detaches itself, but its handle belongs to sennit_runtime_run, which waits for it: return from the "
        "function instead");
  if (!capi::is_parallel(fiber)) {
    detail::handle_access::take<local::fiber>(whom).detach();
  } else {
    whom.flags.owned = false;
    detail::handle_access::take<sennit::fiber>(whom).detach();
  }
}

int sennit_fiber_unpark(sennit_fiber* fiber) {
  if (fiber == nullptr)
    return -EINVAL;
  detail::fiber& whom = *descriptor_of(fiber);
  if (!capi::is_parallel(fiber))
    detail::fiber_unpark(whom);
  else if (whom.permit.grant())
    detail::parallel_ready(whom, detail::fiber_status::notified);
  return 0;
}

const char* sennit_fiber_name(const sennit_fiber* fiber) {
  return fiber != nullptr ? detail::fiber_name(*descriptor_of(fiber)) : "";
}

uint64_t sennit_fiber_id(sennit_fiber* fiber) {
  return fiber != nullptr ? detail::fiber_id(*descriptor_of(fiber)) : 0;
}

int sennit_self_sleep(int64_t nanoseconds) {
  int64_t deadline;
  if (__builtin_add_overflow(sennit_now(), nanoseconds, &deadline))
    deadline = nanoseconds < 0 ? 0 : SENNIT_NEVER;
  return sennit_self_sleep_until(deadline);
}

int sennit_self_sleep_until(int64_t deadline) {
  if (!in_fiber())
    return -EINVAL;
  if (detail::this_parallel() != nullptr)
    this_fiber::sleep_until(capi::time_of(deadline));
  else
    local::this_fiber::sleep_until(capi::time_of(deadline));
  return 0;
}

int sennit_self_park(void) {
  return sennit_self_park_until(SENNIT_NEVER);
}

int sennit_self_park_until(int64_t deadline) {
  if (!in_fiber())
    return -EINVAL;
  const bool unparked = detail::this_parallel() != nullptr
                            ? this_fiber::park_until(capi::time_of(deadline))
                            : local::this_fiber::park_until(capi::time_of(deadline));
  return unparked ? 0 : -ETIMEDOUT;
}

int sennit_become(sennit_function function, const void* state, size_t size, int64_t deadline) {
  const auto become = [&, frame = __builtin_dwarf_cfa()](auto wait) {
    return capi::become("sennit_become", frame, std::move(wait), function, state, size);
  };
  if (deadline == SENNIT_NEVER)
    return become(detail::park_wait{});
  if (deadline <= 0)
    return become(detail::yield_wait{});
  return become(detail::timed_park_wait(capi::time_of(deadline)));
}

int sennit_self_set_yield_continuation(sennit_function function, const void* state, size_t size) {
  if (function == nullptr || !capi::is_state(state, size) || !in_fiber())
    return -EINVAL;
  return capi::with_state(
      state, size, [&](auto kept) { detail::yield_to(capi::c_continuation{function}, std::move(kept)); });
}

int sennit_self_clear_yield_continuation(void) {
  if (!in_fiber())
    return -EINVAL;
  this_fiber::clear_yield_continuation();
  return 0;
}

sennit_fiber* sennit_self(void) {
  return in_fiber() ? capi::handle_of(detail::current_fiber(), !detail::this_worker()->is_local()) : nullptr;
}

int sennit_self_set_name(const char* name) {
  if (name == nullptr || !in_fiber())
    return -EINVAL;
  detail::fiber_set_name(detail::current_fiber(), name);
  return 0;
}
