// Pins a fiber to its worker for a time.
#pragma once

#include "sennit/detail/parallel/worker_inline.hpp"

namespace sennit::inline v0_1::detail {

// During its lifetime the running fiber resumes on its worker after every wait. (In a local runtime it does
// so anyway.)
class pinned_for_now {
public:
  pinned_for_now(worker& w, fiber& f) noexcept : fiber_(f), kind_(f.flags.kind) {
    if (w.is_local())
      return;
    f.home = &w;
    f.flags.kind = waiter_kind::pinned_fiber;
  }
  ~pinned_for_now() { fiber_.flags.kind = kind_; }
  pinned_for_now(const pinned_for_now&) = delete;
  pinned_for_now& operator=(const pinned_for_now&) = delete;

private:
  fiber& fiber_;
  const waiter_kind kind_;
};

}  // namespace sennit::inline v0_1::detail
