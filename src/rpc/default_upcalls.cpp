// One pool for upcalls for each runtime.
#include "sennit/detail/rpc/default_upcalls.hpp"

#include <atomic>
#include <memory>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

namespace {

template <class Pool>
struct kept_pool : local_value {
  kept_pool()
      : local_value{0, [](local_value& self) noexcept { delete static_cast<kept_pool*>(&self); }},
        pool(default_upcalls) {}
  Pool pool;
};

}  // namespace

template <class Pool>
Pool& default_upcall_pool() {
  worker& here = running_worker_for("an upcall");
  std::atomic<local_value*>& place = here.operations.worker_at(here, 0)->upcalls;
  local_value* kept = place.load(std::memory_order_acquire);
  if (kept == nullptr) [[unlikely]] {
    auto made = std::make_unique<kept_pool<Pool>>();
    if (place.compare_exchange_strong(kept, made.get(), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      made->pool.ends_with_runtime();
      kept = made.release();
    }
  }
  return static_cast<kept_pool<Pool>*>(kept)->pool;
}

template sennit::upcall_pool& default_upcall_pool<sennit::upcall_pool>();
template local::upcall_pool& default_upcall_pool<local::upcall_pool>();

}  // namespace sennit::inline v0_1::detail
