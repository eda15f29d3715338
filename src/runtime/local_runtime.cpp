// The local runtime and its fibers' handles: the parts that need not be inline.
#include <algorithm>
#include <cassert>

#include "sennit/detail/fault/handler.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/local/runtime.hpp"

namespace sennit::inline v0_1::local {

void fiber::release(detail::fiber& f) noexcept {
  f.joiner = nullptr;
  f.flags.owned = false;
  if (f.flags.status != detail::fiber_status::finished)
    return;
  if (const std::exception_ptr* error = detail::fiber_error(f))
    detail::fiber_terminate(f, *error);
  detail::recycle_fiber(*f.home, f);
}

void fiber::collect_slow(detail::fiber& f) {
  std::exception_ptr error = detail::fiber_take_error(f);
  detail::recycle_fiber(*f.home, f);
  if (error != nullptr)
    detail::fiber_rethrow(std::move(error));
  detail::throw_if_shutdown_pending();
}

fiber spawn(continuation begins) {
  detail::worker& w = detail::running_worker_for("spawn");
  detail::fiber& f = detail::stackless_make(w, std::move(begins));
  f.joiner = nullptr;
  if (w.unwinding) [[unlikely]] {
    f.flags.shutdown = detail::shutdown_state::delivered;
    f.flags.status = detail::fiber_status::unwinding;
    w.ready.add(&f);
  } else if (!detail::file_new_stackless(f, w.parks_at)) {
    f.flags.status = detail::fiber_status::notified;
    w.ready.add(&f);
  }
  return fiber(f);
}

namespace this_fiber {

void sleep_until(std::chrono::steady_clock::time_point deadline) {
  detail::park_until(detail::running_worker_for("this_fiber::sleep"), detail::fiber_status::parked, "sleep",
                     deadline);
}

bool park_until(std::chrono::steady_clock::time_point deadline) {
  detail::worker& w = detail::running_worker_for("this_fiber::park");
  detail::fiber& self = *w.ready.current;
  if (!self.flags.unpark_pending)
    detail::park_until(w, detail::fiber_status::unpark, "park", deadline);
  return std::exchange(self.flags.unpark_pending, false);
}

std::uint64_t id() noexcept {
  return detail::fiber_id(*detail::running_worker_for("this_fiber::id").ready.current);
}
std::string_view name() noexcept {
  return detail::running_worker_for("this_fiber::name").ready.current->name;
}
void set_name(std::string_view name) noexcept {
  detail::fiber_set_name(*detail::running_worker_for("this_fiber::set_name").ready.current, name);
}

}  // namespace this_fiber

void runtime::finish(fiber main) {
  worker_.main_waits_for = main.fiber_;
  detail::bind_and_run(worker_);
  main.collect(*main.fiber_);
}

void runtime::prepare_thread() {
  detail::fault_must_watch_thread();
}

bool runtime::run_once(std::chrono::steady_clock::time_point deadline) {
  prepare_thread();
  worker_.main_deadline = deadline;
  detail::bind_and_run(worker_);
  const bool more = !worker_.ready.empty() || !worker_.inbox.still_empty();  // host_run has marked it asleep
  worker_.driver->arm(more ? detail::time_point::min()
                           : std::min(worker_.deadlines.earliest(), detail::next_try_of_posts(worker_)));
  return more;
}

}  // namespace sennit::inline v0_1::local
