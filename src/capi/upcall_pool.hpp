// The upcall pool of C.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "kind.hpp"
#include "sennit/detail/cont/waits.hpp"
#include "sennit/local/upcall_pool.hpp"
#include "sennit/sennit.h"
#include "sennit/upcall_pool.hpp"

struct sennit_upcall_pool {
  sennit_upcall_pool(bool shared, sennit::upcall_options options)
      : pool(shared, options), runtime(sennit::detail::this_worker()->runtime_id()) {
    pool.with([this](auto& one) {
      for (const auto& each : sennit::detail::upcall_access::fibers(one))
        fibers.push_back(&sennit::detail::join_access::of(each));
    });
    std::sort(fibers.begin(), fibers.end(), std::less<>());
  }
  // Whether the calling fiber is one of the pool's.
  bool has_caller() const noexcept {
    return sennit::capi::in_fiber() &&
           std::binary_search(fibers.begin(), fibers.end(), sennit::detail::this_worker()->ready.current,
                              std::less<>());
  }

  sennit::capi::kinds<sennit::local::upcall_pool, sennit::upcall_pool> pool;
  const void* const runtime;
  std::vector<const sennit::detail::fiber*> fibers;  // by their addresses
};
