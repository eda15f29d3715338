// sennit::async_read_some, sennit::async_write_all: asynchronous transfers, whose completion is an upcall.
// room: io
//
//   if (!sennit::async_read_some(stream, buffer, [mine](sennit::io_result got) { mine->take(got); }))
//     ...  // not begun: too many transfers are in progress
//
// Source: Draves et al. 1991, section 4 (asynchronous I/O: a continuation to be called when it completes).
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "sennit/detail/cont/waits.hpp"
#include "sennit/detail/rpc/default_upcalls.hpp"
#include "sennit/select_io.hpp"
#include "sennit/tcp_stream.hpp"

namespace sennit::inline v0_1 {

namespace detail {

// One of the pool's fibers is the transfer, without a stack, and then calls the handler.
template <bool Reading, class Pool, class Handler>
bool async_transfer(Pool& pool, const tcp_stream& stream, std::span<const std::byte> memory,
                    Handler handler) noexcept {
  return pool.post([source = source_access::of(stream), memory, handler](Pool& of) mutable {
    auto* const at = const_cast<std::byte*>(memory.data());
    auto complete = [&of, handler](io_result result) mutable {
      handler(result);
      return of.idle();
    };
    try {
      return block(transfer_wait<Reading>(source, at, memory.size()), std::move(complete), no_state{});
    } catch (const std::bad_alloc&) {
      handler(io_result{0, std::make_error_code(std::errc::not_enough_memory)});
      return of.idle();
    }
  });
}

}  // namespace detail

/// Begins what tcp_stream::read_some() does, and returns without waiting. When it is done, a fiber of the
/// pool calls `handler(io_result)`.
///
/// - Pool: an upcall_pool, or a local one, of the stream's kind of runtime. Each transfer occupies one of
///   its fibers until its handler has returned. Further transfers are queued.
/// - Handler: at most 8 bytes and trivially copyable, such as a lambda that has captured a pointer.
/// - Buffer: it must not move until the handler is called. The stream must not be destroyed until then, but
///   it may be closed.
/// - Errors: the handler gets operation_canceled if the stream is closed, also before the call;
///   bad_file_descriptor if it was never open; device_or_resource_busy if another fiber or transfer reads.
///
/// \returns false if the pool's queue is full or the pool is closed; nothing was begun
template <class Pool, class Handler>
[[nodiscard]] bool async_read_some(Pool& pool, const tcp_stream& stream, std::span<std::byte> to,
                                   Handler handler) noexcept {
  return detail::async_transfer<true>(pool, stream, to, handler);
}
/// Reads into a span of char. Otherwise like the form for bytes.
template <class Pool, class Handler>
[[nodiscard]] bool async_read_some(Pool& pool, const tcp_stream& stream, std::span<char> to,
                                   Handler handler) noexcept {
  return detail::async_transfer<true>(pool, stream, std::as_writable_bytes(to), handler);
}
/// Begins what tcp_stream::write_all() does, and returns without waiting. Otherwise like async_read_some().
template <class Pool, class Handler>
[[nodiscard]] bool async_write_all(Pool& pool, const tcp_stream& stream, std::span<const std::byte> from,
                                   Handler handler) noexcept {
  return detail::async_transfer<false>(pool, stream, from, handler);
}
/// Writes a string. Otherwise like the form for bytes.
template <class Pool, class Handler>
[[nodiscard]] bool async_write_all(Pool& pool, const tcp_stream& stream, std::string_view from,
                                   Handler handler) noexcept {
  return detail::async_transfer<false>(pool, stream, std::as_bytes(std::span(from)), handler);
}

/// Reads by the default pool of the calling fiber's runtime, which has 1,024 fibers without stacks. The
/// first call of this kind makes the pool. When the runtime ends, handlers that wait for their transfer are
/// no longer called.
///
/// \throws std::bad_alloc if there is no memory for the pool
template <class Handler>
[[nodiscard]] bool async_read_some(const tcp_stream& stream, std::span<std::byte> to, Handler handler) {
  return detail::with_default_upcall_pool(
      [&](auto& pool) { return async_read_some(pool, stream, to, handler); });
}
/// Reads into a span of char, by the default pool.
template <class Handler>
[[nodiscard]] bool async_read_some(const tcp_stream& stream, std::span<char> to, Handler handler) {
  return async_read_some(stream, std::as_writable_bytes(to), handler);
}
/// Writes by the default pool of the calling fiber's runtime. Otherwise like async_read_some(stream, to,
/// handler).
template <class Handler>
[[nodiscard]] bool async_write_all(const tcp_stream& stream, std::span<const std::byte> from,
                                   Handler handler) {
  return detail::with_default_upcall_pool(
      [&](auto& pool) { return async_write_all(pool, stream, from, handler); });
}
/// Writes a string, by the default pool.
template <class Handler>
[[nodiscard]] bool async_write_all(const tcp_stream& stream, std::string_view from, Handler handler) {
  return async_write_all(stream, std::as_bytes(std::span(from)), handler);
}

}  // namespace sennit::inline v0_1
