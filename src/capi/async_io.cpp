// Asynchronous I/O: upcalls when an operation completes.
#include "sennit/async_io.hpp"

#include <cstddef>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "file.hpp"
#include "sennit/detail/rpc/default_upcalls.hpp"
#include "stream.hpp"
#include "upcall_pool.hpp"

using namespace sennit;
using capi::guarded;
using capi::in_fiber;

namespace {

// The handlers.
struct c_transfer {
  sennit_async_transfer* transfer;
  void operator()(io_result got) const {
    transfer->size = got.size;
    transfer->done(transfer, capi::result_of(got.error));
  }
};
struct c_stream {
  sennit_async_stream* operation;
  void operator()(tcp_stream got, std::error_code error) const {
    operation->stream = error ? nullptr : capi::handle_of(std::move(got));
    operation->done(operation, capi::result_of(error));
  }
};

template <class Begin>
int begin_in(sennit_upcall_pool* pool, Begin begin) {
  return guarded([&] {
    const bool begun = pool != nullptr ? pool->pool.with(begin) : detail::with_default_upcall_pool(begin);
    return begun ? 0 : -EAGAIN;
  });
}

template <class Object, class Operation>
bool may_begin(const Object* object, const sennit_upcall_pool* pool, const Operation* operation) noexcept {
  return object != nullptr && operation != nullptr && operation->done != nullptr &&
         (pool != nullptr ? pool->pool.may_use() : in_fiber());
}
bool is_memory(const void* memory, std::size_t size) noexcept {
  return memory != nullptr || size == 0;
}

}  // namespace

int sennit_tcp_stream_async_read(sennit_tcp_stream* stream, sennit_upcall_pool* pool, void* to, size_t size,
                                 sennit_async_transfer* transfer) {
  if (!may_begin(stream, pool, transfer) || !is_memory(to, size))
    return -EINVAL;
  return begin_in(pool, [&](auto& one) {
    return async_read_some(one, *capi::lent_stream(stream), std::span(static_cast<std::byte*>(to), size),
                           c_transfer{transfer});
  });
}

int sennit_tcp_stream_async_write_all(sennit_tcp_stream* stream, sennit_upcall_pool* pool, const void* from,
                                      size_t size, sennit_async_transfer* transfer) {
  if (!may_begin(stream, pool, transfer) || !is_memory(from, size))
    return -EINVAL;
  return begin_in(pool, [&](auto& one) {
    return async_write_all(one, *capi::lent_stream(stream),
                           std::span(static_cast<const std::byte*>(from), size), c_transfer{transfer});
  });
}

int sennit_tcp_stream_async_connect(sennit_upcall_pool* pool, const char* host, uint16_t port,
                                    int64_t deadline, sennit_async_stream* operation) {
  if (!may_begin(host, pool, operation))
    return -EINVAL;
  return begin_in(pool, [&](auto& one) {
    return async_connect(one, host, port, c_stream{operation}, capi::time_of(deadline));
  });
}

int sennit_tcp_listener_async_accept(sennit_tcp_listener* listener, sennit_upcall_pool* pool,
                                     sennit_async_stream* operation) {
  if (!may_begin(listener, pool, operation))
    return -EINVAL;
  return begin_in(pool,
                  [&](auto& one) { return async_accept(one, listener->listener, c_stream{operation}); });
}

int sennit_file_async_read_at(sennit_file* file, sennit_upcall_pool* pool, uint64_t offset, void* to,
                              size_t size, sennit_async_transfer* transfer) {
  if (!may_begin(file, pool, transfer) || !is_memory(to, size))
    return -EINVAL;
  return begin_in(pool, [&](auto& one) {
    return async_read_some_at(one, file->file, offset, std::span(static_cast<char*>(to), size),
                              c_transfer{transfer});
  });
}

int sennit_file_async_write_all_at(sennit_file* file, sennit_upcall_pool* pool, uint64_t offset,
                                   const void* from, size_t size, sennit_async_transfer* transfer) {
  if (!may_begin(file, pool, transfer) || !is_memory(from, size))
    return -EINVAL;
  return begin_in(pool, [&](auto& one) {
    return async_write_all_at(one, file->file, offset, std::string_view(static_cast<const char*>(from), size),
                              c_transfer{transfer});
  });
}
