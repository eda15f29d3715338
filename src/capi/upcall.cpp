// Upcalls, and asynchronous transfers, which are upcalls when they complete.
#include <cstddef>
#include <cstring>
#include <span>

#include "become.hpp"
#include "kind.hpp"
#include "sennit/async_io.hpp"
#include "sennit/detail/rpc/default_upcalls.hpp"
#include "sennit/local/upcall_pool.hpp"
#include "sennit/upcall_pool.hpp"
#include "stream.hpp"

using namespace sennit;
using capi::guarded;
using capi::in_fiber;

struct sennit_upcall_pool {
  sennit_upcall_pool(bool shared, upcall_options options)
      : pool(shared, options), runtime(detail::this_worker()->runtime_id()) {}
  capi::kinds<local::upcall_pool, upcall_pool> pool;
  const void* const runtime;
};

namespace {

constexpr std::size_t most_upcall_state = 24;

struct c_upcall {
  sennit_function function;
  alignas(8) std::byte state[most_upcall_state];
  void operator()() { function(state); }
};

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
  return capi::create(result, !detail::this_worker()->is_local(), wanted);
}

int sennit_upcall_pool_destroy(sennit_upcall_pool* pool) {
  if (pool != nullptr && !in_fiber_of(*pool))
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
  c_upcall what{function, {}};
  if (size != 0)
    std::memcpy(what.state, state, size);
  return pool->pool.with([&](auto& one) { return one.post(what); }) ? 0 : -EAGAIN;
}

int sennit_upcall_pool_become_idle(sennit_upcall_pool* pool) {
  if (pool == nullptr || !in_fiber_of(*pool))
    return -EINVAL;
  const void* const frame = __builtin_dwarf_cfa();
  return guarded([&] {
    detail::may_leave_frames("sennit_upcall_pool_become_idle", frame);
    pool->pool.with([](auto& one) { detail::leave_frames(one.idle()); });
    return 0;
  });
}

namespace {

// The handler of a transfer.
struct c_transfer {
  sennit_async_transfer* transfer;
  void operator()(io_result got) const {
    transfer->size = got.size;
    transfer->done(transfer, capi::result_of(got.error));
  }
};

template <class Begin>
int begin_transfer(sennit_upcall_pool* pool, Begin begin) {
  return guarded([&] {
    const bool begun = pool != nullptr ? pool->pool.with(begin) : detail::with_default_upcall_pool(begin);
    return begun ? 0 : -EAGAIN;
  });
}

bool may_begin(const sennit_tcp_stream* stream, const sennit_upcall_pool* pool, const void* memory,
               std::size_t size, const sennit_async_transfer* transfer) noexcept {
  return stream != nullptr && transfer != nullptr && transfer->done != nullptr &&
         (memory != nullptr || size == 0) && (pool != nullptr ? pool->pool.may_use() : in_fiber());
}

}  // namespace

int sennit_tcp_stream_async_read(sennit_tcp_stream* stream, sennit_upcall_pool* pool, void* to, size_t size,
                                 sennit_async_transfer* transfer) {
  if (!may_begin(stream, pool, to, size, transfer))
    return -EINVAL;
  return begin_transfer(pool, [&](auto& one) {
    return async_read_some(one, stream->stream, std::span(static_cast<std::byte*>(to), size),
                           c_transfer{transfer});
  });
}

int sennit_tcp_stream_async_write_all(sennit_tcp_stream* stream, sennit_upcall_pool* pool, const void* from,
                                      size_t size, sennit_async_transfer* transfer) {
  if (!may_begin(stream, pool, from, size, transfer))
    return -EINVAL;
  return begin_transfer(pool, [&](auto& one) {
    return async_write_all(one, stream->stream, std::span(static_cast<const std::byte*>(from), size),
                           c_transfer{transfer});
  });
}
