// sennit::async_read_some, sennit::async_write_all: transfers that go on beside the calling fiber. Their
// completion is an upcall.
// room: io
//
//   if (!sennit::async_read_some(stream, buffer, [mine](sennit::io_result got) { mine->take(got); }))
//     ...  // not begun: too many are
//
// Source: Draves et al. 1991, section 4 (asynchronous I/O: a continuation to be called when it completes).
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <string_view>
#include <system_error>

#include "sennit/become.hpp"
#include "sennit/detail/rpc/default_upcalls.hpp"
#include "sennit/select_io.hpp"
#include "sennit/tcp_stream.hpp"

namespace sennit {

namespace detail {

// One of the pool's fibers is the transfer, without a stack, and then calls the handler.
template <bool Reading, class Pool, class Handler>
bool async_transfer(Pool& pool, const tcp_stream& stream, std::span<const std::byte> memory,
                    Handler handler) noexcept {
  return pool.post([source = source_access::of(stream), memory, handler](Pool& of) mutable {
    auto* const at = const_cast<std::byte*>(memory.data());
    const auto complete = [&of, handler](io_result result) mutable {
      handler(result);
      return of.idle();
    };
    try {
      return sennit::become(transfer_wait<Reading>(source, at, memory.size()), complete);
    } catch (const std::bad_alloc&) {
      handler(io_result{0, std::make_error_code(std::errc::not_enough_memory)});
      return of.idle();
    }
  });
}

}  // namespace detail

// Begins what tcp_stream::read_some (or write_all) does, and returns. A fiber of the pool calls
// handler(io_result) when that is done: 8 bytes at most, and trivially copyable, as a lambda that has
// captured a pointer. `pool`: an upcall_pool, or a local one, of the stream's kind of runtime. Each transfer
// that has begun takes one of its fibers until its handler has returned; others wait for one. False: too
// many do, and nothing was begun.
//
// Until the handler is called the memory stays where it is, and the stream is not destroyed, though it may be
// closed: then the handler gets operation_canceled, also where the stream was closed before the call. For a
// stream that was never open, the handler gets bad_file_descriptor. Where another fiber or transfer reads, or
// writes, the handler gets device_or_resource_busy.
template <class Pool, class Handler>
[[nodiscard]] bool async_read_some(Pool& pool, const tcp_stream& stream, std::span<std::byte> to,
                                   Handler handler) noexcept {
  return detail::async_transfer<true>(pool, stream, to, handler);
}
template <class Pool, class Handler>
[[nodiscard]] bool async_read_some(Pool& pool, const tcp_stream& stream, std::span<char> to,
                                   Handler handler) noexcept {
  return detail::async_transfer<true>(pool, stream, std::as_writable_bytes(to), handler);
}
template <class Pool, class Handler>
[[nodiscard]] bool async_write_all(Pool& pool, const tcp_stream& stream, std::span<const std::byte> from,
                                   Handler handler) noexcept {
  return detail::async_transfer<false>(pool, stream, from, handler);
}
template <class Pool, class Handler>
[[nodiscard]] bool async_write_all(Pool& pool, const tcp_stream& stream, std::string_view from,
                                   Handler handler) noexcept {
  return detail::async_transfer<false>(pool, stream, std::as_bytes(std::span(from)), handler);
}

// The same by a pool that each runtime has, of the calling fiber's: 1,024 fibers without stacks. It is made
// by the first such call, which throws std::bad_alloc where there is no memory for it. At the runtime's end
// handlers that wait for their transfer are not called any more.
template <class Handler>
[[nodiscard]] bool async_read_some(const tcp_stream& stream, std::span<std::byte> to, Handler handler) {
  return detail::with_default_upcall_pool(
      [&](auto& pool) { return async_read_some(pool, stream, to, handler); });
}
template <class Handler>
[[nodiscard]] bool async_read_some(const tcp_stream& stream, std::span<char> to, Handler handler) {
  return async_read_some(stream, std::as_writable_bytes(to), handler);
}
template <class Handler>
[[nodiscard]] bool async_write_all(const tcp_stream& stream, std::span<const std::byte> from,
                                   Handler handler) {
  return detail::with_default_upcall_pool(
      [&](auto& pool) { return async_write_all(pool, stream, from, handler); });
}
template <class Handler>
[[nodiscard]] bool async_write_all(const tcp_stream& stream, std::string_view from, Handler handler) {
  return async_write_all(stream, std::as_bytes(std::span(from)), handler);
}

}  // namespace sennit
