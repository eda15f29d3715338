// The parallel runtime and its fibers' handles: the parts that need not be inline.
#include "sennit/runtime.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#include "sennit/detail/parallel/cpus.hpp"
#include "sennit/fiber.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit::inline v0_1 {

namespace {

unsigned worker_count(unsigned wanted) {
  return wanted != 0 ? wanted : std::min(detail::usable_cpus(), detail::sleepers<>::most_workers);
}

}  // namespace

runtime::runtime(const runtime_options& options, detail::deadlock_reports deadlocks)
    : shared_(worker_count(options.workers), options.policy,
              detail::stack_shape_of(options.stack_size, options.guard_size),
              {.stuck_after = options.report_stuck_after, .deadlock = deadlocks}, options.time_slice,
              options.max_fibers) {}

void runtime::wait_for(fiber main) {
  const stop_shield in_any_case;
  main.join();
}

bool fiber::join_until(std::chrono::steady_clock::time_point deadline) {
  if (fiber_ == nullptr)
    detail::throw_empty_handle("join");
  if (!detail::wait_for_end(*fiber_, deadline))
    return false;
  collect();
  return true;
}

void fiber::release(detail::fiber& f) noexcept {
  if (f.ended.exchange(detail::ended_unobserved, std::memory_order_acq_rel) != detail::ended_already)
    return;
  if (const std::exception_ptr* error = detail::fiber_error(f))
    detail::fiber_terminate(f, *error);
  detail::parallel_recycle(f);
}

void fiber::unpark() noexcept {
  if (some().permit.grant())
    detail::parallel_ready(*fiber_, detail::fiber_status::notified);
}

fiber spawn(continuation begins) {
  detail::parallel_worker& w = detail::running_parallel_for("spawn");
  detail::fiber& f = detail::stackless_make(w, std::move(begins));
  if (w.runtime.forces_migration)
    f.flags.kind = detail::waiter_kind::migrating_fiber;
  ::new (&f.permit) detail::wait_claim;
  f.ended.store(detail::ended_not_yet, std::memory_order_relaxed);
  if (w.unwinding && detail::deliver_shutdown(f)) [[unlikely]]
    detail::parallel_push(w, f);
  else if (!detail::file_new_stackless(f, w.parks_at)) {
    detail::set_ready(f, detail::fiber_status::notified);
    detail::parallel_requeue(w, f);
  }
  return fiber(f);
}

void fiber::collect_slow(detail::fiber& done) {
  std::exception_ptr error = detail::fiber_take_error(done);
  detail::parallel_recycle(done);
  if (error != nullptr)
    detail::fiber_rethrow(std::move(error));
  detail::throw_if_shutdown_pending();
}

namespace detail {

void parallel_must_have(const parallel_runtime& of, unsigned number) {
  if (number >= of.workers.size())
    throw std::system_error(EINVAL, std::generic_category(),
                            "sennit: a fiber cannot be pinned to worker " + std::to_string(number) +
                                ": the runtime has " + std::to_string(of.workers.size()) + ", from 0");
}

void parallel_begin_as(parallel_runtime& of, parallel_worker* w, fiber& f,
                       const spawn_options& options) noexcept {
  if (!options.name.empty())
    fiber_set_name(f, options.name);
  const std::size_t count = of.workers.size();
  if (options.pinned) {
    f.home = of.workers[*options.pinned];
    f.flags.kind = waiter_kind::pinned_fiber;
    f.flags.slow_path = true;
  } else if (of.forces_migration) {
    f.flags.kind = waiter_kind::migrating_fiber;
  }
  if (w != nullptr && (!options.pinned || f.home == w) && !options.near)
    parallel_push(*w, f);
  else if (options.near && !options.pinned)
    parallel_send(*of.workers[*options.near % count], f);
  else
    parallel_inject(f);
}

}  // namespace detail

namespace this_fiber {

namespace {

detail::fiber& self(const char* what) noexcept {
  const detail::worker& w = detail::running_worker_for(what);
  if (w.is_local()) [[unlikely]]
    detail::no_fiber_here(what);
  return *w.ready.current;
}

}  // namespace

void sleep_until(std::chrono::steady_clock::time_point deadline) {
  detail::sleep_until(deadline);
}

bool park_until(std::chrono::steady_clock::time_point deadline) {
  detail::fiber& me = self("this_fiber::park");
  bool stopped = false;
  if (me.permit.is_open()) {
    detail::fiber_timer timer;
    timer.arm(me, me.permit, deadline);
    detail::stop_watch stop;
    stop.arm(&me, me.permit);
    detail::park_site site;
    detail::parallel_block(detail::running_parallel(), site,
                           [](detail::fiber& f) { return f.permit.park(); });
    stopped = stop.end();
  }
  const bool unparked = me.permit.reopen() == detail::claim_state::taken;
  if (stopped && !unparked)
    detail::throw_cancelled();
  return unparked;
}

std::uint64_t id() noexcept {
  return detail::fiber_id(self("this_fiber::id"));
}
std::string_view name() noexcept {
  return self("this_fiber::name").name;
}
void set_name(std::string_view name) noexcept {
  detail::fiber_set_name(self("this_fiber::set_name"), name);
}
unsigned worker() noexcept {
  self("this_fiber::worker");
  return detail::running_parallel().index;
}

}  // namespace this_fiber

}  // namespace sennit::inline v0_1
