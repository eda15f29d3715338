// sennit::async_read_some, sennit::async_write_all, sennit::async_accept, sennit::async_connect and others:
// asynchronous I/O, whose completion is an upcall.
// room: io
//
//   if (!sennit::async_read_some(stream, buffer, [mine](sennit::io_result got) { mine->take(got); }))
//     ...  // not begun: too many transfers are in progress
//
// Source: Draves et al. 1991, section 4 (asynchronous I/O: a continuation to be called when it completes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/waits.hpp"
#include "sennit/detail/io/accept_wait.hpp"
#include "sennit/detail/io/connecting.hpp"
#include "sennit/detail/io/file_transfer.hpp"
#include "sennit/detail/rpc/default_upcalls.hpp"
#include "sennit/file.hpp"
#include "sennit/no_deadline.hpp"
#include "sennit/select_io.hpp"
#include "sennit/tcp_listener.hpp"
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

// The handler gets a stream: of a file descriptor that it then owns, or not open, with an error.
template <class Handler>
void hand_over(Handler& handler, int descriptor_or_error) {
  std::error_code error;
  owned_source connected;
  if (descriptor_or_error < 0)
    error = io_error(descriptor_or_error);
  else
    try {
      connected = owned_source(descriptor_or_error);
    } catch (const std::bad_alloc&) {
      error = std::make_error_code(std::errc::not_enough_memory);
    }
  handler(source_access::stream(std::move(connected)), error);
}

template <class Pool, class Handler>
bool async_accept(Pool& pool, listener* from, Handler handler) noexcept {
  return pool.post([from, handler](Pool& of) mutable {
    auto complete = [&of, handler](int accepted) mutable {
      hand_over(handler, accepted);
      return of.idle();
    };
    static_assert(sizeof(blocked<accept_wait, decltype(complete), no_state>) <= continuation_room,
                  "needs no memory");
    return block(accept_wait(from), std::move(complete), no_state{});
  });
}

// An operation that is too large for a post. The pool owns it until its fiber has got the result.
template <class Pool, class Handler>
class async_connecting final : public connecting, public pool_operation {
public:
  async_connecting(Pool& of, std::string_view host, std::uint16_t port, time_point deadline, Handler handler)
      : connecting(host, port, deadline), pool_(of), handler_(handler) {}

private:
  continuation complete(std::error_code error) override {
    Pool& of = pool_;
    Handler handler(handler_);
    tcp_stream stream = source_access::stream(error ? owned_source() : std::move(result()));
    upcall_access::finish(of, this);
    handler(std::move(stream), error);
    return of.idle();
  }

  Pool& pool_;
  Handler handler_;
};

template <class Pool, class Handler>
class async_file_transfer final : public file_transfer, public pool_operation {
public:
  async_file_transfer(Pool& of, const file& which, std::uint64_t offset, const char* memory, std::size_t size,
                      bool reads, Handler handler) noexcept
      : file_transfer(which.native_handle(), offset, const_cast<char*>(memory), size, reads),
        pool_(of),
        handler_(handler) {}
  continuation begin() {
    return block(offload_wait(*this), [this](int error) { return complete(error); }, no_state{});
  }

private:
  continuation complete(int error) {
    Pool& of = pool_;
    Handler handler(handler_);
    const io_result got = result(error);
    upcall_access::finish(of, this);
    handler(got);
    return of.idle();
  }

  Pool& pool_;
  Handler handler_;
};

template <class Handler>
inline constexpr bool is_async_handler = std::is_trivially_copyable_v<Handler> && sizeof(Handler) <= 8;

template <class Pool, class Operation>
bool async_begin(Pool& pool, Operation* made) noexcept {
  return upcall_access::begin(pool, made, [made](Pool&) { return made->begin(); });
}

template <class Pool, class Handler>
bool async_file(Pool& pool, const file& which, std::uint64_t offset, const char* at, std::size_t size,
                bool reads, Handler handler) {
  static_assert(is_async_handler<Handler>, "a handler is trivially copyable, and has at most 8 bytes");
  return async_begin(pool,
                     new async_file_transfer<Pool, Handler>(pool, which, offset, at, size, reads, handler));
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
///   not_enough_memory is possible, too.
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

/// Begins what tcp_listener::accept() does, without a deadline, and returns without waiting. When there is a
/// connection, a fiber of the pool calls `handler(tcp_stream, std::error_code)`. The handler gets the stream
/// by value and owns it; after an error the stream is not open.
///
/// The listener must not be destroyed until the handler is called, but it may be closed. Then the handler
/// gets operation_canceled. A connection that no handler has got is closed with the listener. If no file
/// descriptor is left, the fiber waits with a stack, as accept() does. Otherwise like async_read_some().
///
/// \code
///   void accept_next(server* mine) {
///     if (!sennit::async_accept(mine->pool, mine->listener,
///                               [mine](sennit::tcp_stream stream, std::error_code error) {
///                                 if (error)
///                                   return mine->stopped(error);
///                                 mine->begin_session(std::move(stream));
///                                 accept_next(mine);
///                               }))
///       mine->stopped(std::make_error_code(std::errc::resource_unavailable_try_again));
///   }
/// \endcode
template <class Pool, class Handler>
[[nodiscard]] bool async_accept(Pool& pool, const tcp_listener& listener, Handler handler) noexcept {
  static_assert(detail::is_async_handler<Handler>,
                "a handler is trivially copyable, and has at most 8 bytes");
  return detail::async_accept(pool, detail::source_access::state_of(listener), handler);
}

/// Begins what tcp_stream::connect() does, and returns without waiting. The host is copied. When the stream
/// is connected, or the deadline has passed, a fiber of the pool calls `handler(tcp_stream,
/// std::error_code)`. The handler gets the stream by value and owns it; after an error the stream is not
/// open. The name look-up does not occupy a stack either.
///
/// If the runtime ends first, the handler is not called, and the socket is closed. Otherwise like
/// async_read_some().
///
/// \returns false if the pool's queue is full or the pool is closed; nothing was begun
/// \throws std::bad_alloc if there is no memory; nothing was begun
template <class Pool, class Handler>
[[nodiscard]] bool async_connect(Pool& pool, std::string_view host, std::uint16_t port, Handler handler,
                                 std::chrono::steady_clock::time_point deadline = no_deadline) {
  static_assert(detail::is_async_handler<Handler>,
                "a handler is trivially copyable, and has at most 8 bytes");
  return detail::async_begin(
      pool, new detail::async_connecting<Pool, Handler>(pool, host, port, deadline, handler));
}

/// Begins what file::read_some_at() does, and returns without waiting. A thread of offload()'s pool reads,
/// and then a fiber of the upcall pool calls `handler(io_result)`. That fiber has no stack until then.
///
/// The file must not be closed or destroyed until the handler is called. If the runtime ends first, a read
/// that has not begun is withdrawn, and one that has begun is waited for; the handler is not called.
/// Otherwise like async_read_some().
///
/// \returns false if the pool's queue is full or the pool is closed; nothing was begun
/// \throws std::bad_alloc if there is no memory; nothing was begun
template <class Pool, class Handler>
[[nodiscard]] bool async_read_some_at(Pool& pool, const file& from, std::uint64_t offset, std::span<char> to,
                                      Handler handler) {
  return detail::async_file(pool, from, offset, to.data(), to.size(), true, handler);
}
/// Begins what file::write_all_at() does. The result has the number of bytes that were written, also with an
/// error. Otherwise like async_read_some_at().
template <class Pool, class Handler>
[[nodiscard]] bool async_write_all_at(Pool& pool, const file& to, std::uint64_t offset, std::string_view from,
                                      Handler handler) {
  return detail::async_file(pool, to, offset, from.data(), from.size(), false, handler);
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
/// Accepts by the default pool of the calling fiber's runtime. Otherwise like async_accept(pool, listener,
/// handler).
///
/// \throws std::bad_alloc if there is no memory for the pool
template <class Handler>
[[nodiscard]] bool async_accept(const tcp_listener& listener, Handler handler) {
  return detail::with_default_upcall_pool([&](auto& pool) { return async_accept(pool, listener, handler); });
}
/// Connects by the default pool of the calling fiber's runtime. Otherwise like async_connect(pool, host,
/// port, handler, deadline).
template <class Handler>
[[nodiscard]] bool async_connect(std::string_view host, std::uint16_t port, Handler handler,
                                 std::chrono::steady_clock::time_point deadline = no_deadline) {
  return detail::with_default_upcall_pool(
      [&](auto& pool) { return async_connect(pool, host, port, handler, deadline); });
}
/// Reads from a file by the default pool of the calling fiber's runtime. Otherwise like
/// async_read_some_at(pool, from, offset, to, handler).
template <class Handler>
[[nodiscard]] bool async_read_some_at(const file& from, std::uint64_t offset, std::span<char> to,
                                      Handler handler) {
  return detail::with_default_upcall_pool(
      [&](auto& pool) { return async_read_some_at(pool, from, offset, to, handler); });
}
/// Writes to a file by the default pool of the calling fiber's runtime. Otherwise like
/// async_write_all_at(pool, to, offset, from, handler).
template <class Handler>
[[nodiscard]] bool async_write_all_at(const file& to, std::uint64_t offset, std::string_view from,
                                      Handler handler) {
  return detail::with_default_upcall_pool(
      [&](auto& pool) { return async_write_all_at(pool, to, offset, from, handler); });
}

}  // namespace sennit::inline v0_1
