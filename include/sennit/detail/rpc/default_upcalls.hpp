// The pool for upcalls that each runtime has. It is made on first use, and destroyed with the runtime.
//
// Each fiber that finds no pool makes one, and publishes it by one exchange. The first pool published stays;
// later ones are dropped. So no fiber waits for another, and none holds a lock while fibers are made, which
// may wait or throw. (A static variable, or std::call_once, would be a pthread lock: another fiber of the
// worker would block the thread.)
#pragma once

#include "sennit/local/upcall_pool.hpp"
#include "sennit/upcall_pool.hpp"

namespace sennit::inline v0_1::detail {

// A transfer takes a fiber for as long as it lasts, and one without a stack is small.
inline constexpr upcall_options default_upcalls{.fibers = 1024, .events = 1024};

// Of the runtime that the calling fiber is of, which must be of that kind. Throws std::bad_alloc.
template <class Pool>
Pool& default_upcall_pool();
extern template sennit::upcall_pool& default_upcall_pool<sennit::upcall_pool>();
extern template local::upcall_pool& default_upcall_pool<local::upcall_pool>();

// Calls use(pool), with that of the calling fiber's runtime, of whichever kind.
template <class Use>
auto with_default_upcall_pool(Use use) {
  return running_worker_for("an upcall").is_local() ? use(default_upcall_pool<local::upcall_pool>())
                                                    : use(default_upcall_pool<sennit::upcall_pool>());
}

}  // namespace sennit::inline v0_1::detail
