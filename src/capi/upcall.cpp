// Upcalls.
#include <cstddef>
#include <cstring>

#include "become.hpp"
#include "upcall_pool.hpp"

using namespace sennit;
using capi::guarded;
using capi::in_fiber;

namespace {

constexpr std::size_t most_upcall_state = 24;
constexpr std::size_t most_in_pool = std::size_t{1} << 24;

template <std::size_t Size>
struct c_upcall {
  sennit_function function;
  alignas(8) std::byte state[Size];
  void operator()() { function(state); }
};

// `size`: at most `Size`. Most states are a pointer.
template <std::size_t Size>
bool post(sennit_upcall_pool& pool, sennit_function function, const void* state, std::size_t size) {
  c_upcall<Size> what;
  what.function = function;
  if (size == Size) [[likely]]
    std::memcpy(what.state, state, Size);
  else if (size != 0)
    std::memcpy(what.state, state, size);
  return pool.pool.with([&](auto& one) { return one.post(what); });
}

bool in_fiber_of(const sennit_upcall_pool& pool) noexcept {
  return in_fiber() && detail::this_worker()->runtime_id() == pool.runtime;
}

}  // namespace

int sennit_upcall_pool_create(sennit_upcall_pool** result, const sennit_upcall_options* options) {
  if (!in_fiber())
    return -EINVAL;
  upcall_options wanted;
  if (options != nullptr && options->fibers != 0)
    wanted.fibers = options->fibers;
  if (options != nullptr && options->events != 0)
    wanted.events = options->events;
  if (wanted.fibers > most_in_pool || wanted.events > most_in_pool)
    return -EINVAL;
  return capi::create(result, !detail::this_worker()->is_local(), wanted);
}

int sennit_upcall_pool_destroy(sennit_upcall_pool* pool) {
  if (pool != nullptr && (!in_fiber_of(*pool) || pool->has_caller()))
    return -EINVAL;
  return guarded([&] {
    delete pool;
    return 0;
  });
}

int sennit_upcall_pool_close(sennit_upcall_pool* pool) {
  if (pool == nullptr || !pool->pool.may_use())
    return -EINVAL;
  pool->pool.with([](auto& one) { one.close(); });
  return 0;
}

int sennit_upcall_pool_post(sennit_upcall_pool* pool, sennit_function function, const void* state,
                            size_t size) {
  if (pool == nullptr || function == nullptr || !pool->pool.may_use() || size > most_upcall_state ||
      (state == nullptr && size != 0))
    return -EINVAL;
  const bool posted = size <= sizeof(void*) ? post<sizeof(void*)>(*pool, function, state, size)
                                            : post<most_upcall_state>(*pool, function, state, size);
  return posted ? 0 : -EAGAIN;
}

int sennit_upcall_pool_become_idle(sennit_upcall_pool* pool) {
  if (pool == nullptr || !pool->has_caller())
    return -EINVAL;
  const void* const frame = __builtin_dwarf_cfa();
  return guarded([&] {
    detail::may_leave_frames("sennit_upcall_pool_become_idle", frame);
    pool->pool.with([](auto& one) { detail::leave_frames(one.idle()); });
    return 0;
  });
}
