// The list of the fibers of sennit_runtime_run.
#include "main_fiber.hpp"

#include <mutex>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::capi {

namespace {

constinit std::mutex all_lock;
constinit main_fiber* all = nullptr;

}  // namespace

main_fiber::main_fiber() noexcept {
  const std::lock_guard hold(all_lock);
  next_ = all;
  at_ = &all;
  if (next_ != nullptr)
    next_->at_ = &next_;
  all = this;
}

main_fiber::~main_fiber() {
  const std::lock_guard hold(all_lock);
  *at_ = next_;
  if (next_ != nullptr)
    next_->at_ = at_;
}

void main_fiber::begins() noexcept {
  const std::uint64_t id = detail::fiber_id(*detail::this_worker()->ready.current);
  const std::lock_guard hold(all_lock);
  id_ = id;
}

bool main_fiber::is(detail::fiber& f) noexcept {
  const std::uint64_t id = detail::fiber_id(f);
  const std::lock_guard hold(all_lock);
  for (const main_fiber* each = all; each != nullptr; each = each->next_)
    if (each->id_ == id)
      return true;
  return false;
}

}  // namespace sennit::inline v0_1::capi
