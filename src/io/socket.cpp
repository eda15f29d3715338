// Sockets.
#include "sennit/detail/io/socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "address.hpp"
#include "attempt.hpp"
#include "connect.hpp"
#include "sennit/detail/io/transfer_wait.hpp"
#include "write_all.hpp"

namespace sennit::inline v0_1::detail {

namespace {

constexpr io_direction read_direction = reading_for("socket read");
constexpr io_direction write_direction = writing_for("socket write");

// Out of line: no compiler can then keep the address of errno across a switch to another thread.
[[gnu::noinline, gnu::cold]] int last_error() noexcept {
  return errno;
}

// Inline: after a system call the processor has forgotten where functions return to, and each return costs.
template <class Call>
[[gnu::always_inline]] inline auto call(Call system_call) noexcept -> decltype(system_call()) {
  for (;;) {
    const auto result = system_call();
    if (result >= 0) [[likely]]
      return result;
    if (const int error = last_error(); error != EINTR)
      return -error;
  }
}

// A transfer that was short has used its side's events up: see source.hpp.
[[gnu::always_inline]] inline void mark_drained(const io_source& source, io_side& side, std::uintptr_t events,
                                                ssize_t moved, std::size_t size) noexcept {
  if (moved > 0 && static_cast<std::size_t>(moved) < size && !source.exact.load(std::memory_order_relaxed))
    side.last_seen_event = events;
}

[[gnu::always_inline]] inline ssize_t receive(io_source& source, std::uintptr_t events, void* to,
                                              std::size_t size) noexcept {
  const int descriptor = source.descriptor.load(std::memory_order_relaxed);
  const ssize_t got = call([&] { return ::recv(descriptor, to, size, 0); });
  prefetch_successor(*this_worker());
  mark_drained(source, source.reading, events, got, size);
  return got;
}

[[gnu::always_inline]] inline ssize_t send(io_source& source, std::uintptr_t events, const void* from,
                                           std::size_t size) noexcept {
  const int descriptor = source.descriptor.load(std::memory_order_relaxed);
  const ssize_t put = call([&] { return ::send(descriptor, from, size, MSG_NOSIGNAL); });
  mark_drained(source, source.writing, events, put, size);
  return put;
}

// Parts of an operation that has begun.
[[gnu::always_inline]] inline ssize_t read_in_time(io_source& source, void* to, std::size_t size,
                                                   time_point deadline) {
  return io_step(source, read_direction, deadline,
                 [&](io_source& s, std::uintptr_t events) { return receive(s, events, to, size); });
}

[[gnu::always_inline]] inline ssize_t write_in_time(io_source& source, const void* from, std::size_t size,
                                                    time_point deadline) {
  return io_step(source, write_direction, deadline,
                 [&](io_source& s, std::uintptr_t events) { return send(s, events, from, size); });
}

// From `written` on, which counts however this ends. Returns 0, or an errno, negated.
[[gnu::always_inline]] inline int write_rest(io_source& source, const void* from, std::size_t size,
                                             time_point deadline, std::size_t& written) {
  const char* const bytes = static_cast<const char*>(from);
  while (written < size) {
    const ssize_t put = write_in_time(source, bytes + written, size - written, deadline);
    if (put < 0)
      return static_cast<int>(put);
    written += static_cast<std::size_t>(put);
    if (written < size && source.closed()) [[unlikely]]
      return -ECANCELED;
  }
  return 0;
}

int set_option(int descriptor, int level, int option, int value) noexcept {
  return call([&] { return ::setsockopt(descriptor, level, option, &value, sizeof value); });
}

int get_option(int descriptor, int option, int& value) noexcept {
  socklen_t size = sizeof value;
  return call([&] { return ::getsockopt(descriptor, SOL_SOCKET, option, &value, &size); });
}

// Accepted sockets inherit TCP_NODELAY, so accept() need not set it.
int bind_and_listen(int descriptor, const socket_address& at, int backlog) noexcept {
  int error = set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
  if (error == 0 && at.storage.ss_family == AF_INET6)
    error = set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (error == 0)
    error = socket_no_delay(descriptor, true);
  if (error == 0)
    error = call([&] { return ::bind(descriptor, at.get(), at.size); });
  if (error == 0)
    error = call([&] { return ::listen(descriptor, backlog); });
  return error;
}

}  // namespace

ssize_t socket_read(io_source* source, void* to, std::size_t size, time_point deadline) {
  return io_whole(source, read_direction, [&](io_source& s) { return read_in_time(s, to, size, deadline); });
}

ssize_t socket_write(io_source* source, const void* from, std::size_t size, time_point deadline) {
  return io_whole(source, write_direction,
                  [&](io_source& s) { return write_in_time(s, from, size, deadline); });
}

int socket_write_all(io_source* source, const void* from, std::size_t size, time_point deadline,
                     std::size_t& written) {
  written = 0;
  return static_cast<int>(io_whole(source, write_direction, [&](io_source& s) -> ssize_t {
    return write_rest(s, from, size, deadline, written);
  }));
}

std::error_code socket_write_all_reported(io_source* source, const void* from, std::size_t size,
                                          time_point deadline, std::size_t& written) {
  return reported([&] { return socket_write_all(source, from, size, deadline, written); });
}

bool transfer_wait_base::attempt() noexcept {
  io_source& from = *source();
  const std::uintptr_t events = side().look();
  if (events == side().last_seen_event)
    return false;
  const std::size_t rest = size_ - moved_;
  const ssize_t result = reads() ? receive(from, events, at_, rest) : send(from, events, at_ + moved_, rest);
  if (result == -EAGAIN) {
    side().last_seen_event = events;
    return false;
  }
  if (result < 0)
    error_ = static_cast<int>(-result);
  else
    moved_ += static_cast<std::size_t>(result);
  return result < 0 || reads() || moved_ == size_;
}

bool transfer_wait_base::woken(fiber& f) noexcept {
  // A peer that takes all there is to write as quickly as it is written must not keep others waiting.
  for (int most = 4; most > 0; --most) {
    if (source()->closed()) {
      error_ = ECANCELED;
      return done_ = true;
    }
    if (attempt()) {
      count_recognition(&f);
      return done_ = true;
    }
    if (side().last_seen_event == 0)
      continue;
    if (source()->driver.load(std::memory_order_relaxed) ==
        0)  // it could not be registered: there are no events
      return true;
    if (source_enter(side(), me()))
      return false;
  }
  return true;
}

// The fiber makes transfers that need not wait, and the driver leaves it the rest of a long write, after
// which the driver continues. finish() reports errors that no wait can mend.
bool transfer_wait_base::is_over() noexcept {
  if (done_ || !begun() || source()->closed() || source()->driver.load(std::memory_order_relaxed) == 0)
    return true;
  return done_ = attempt();
}

int transfer_wait_base::transfer(time_point deadline) {
  if (source() == nullptr)
    return -EBADF;
  if (const int error = begin(io_is_shared()); error != 0)
    return error;
  if (source()->closed())
    return -ECANCELED;
  if (!reads())
    return write_rest(*source(), at_, size_, deadline, moved_);
  const ssize_t got = read_in_time(*source(), at_, size_, deadline);
  if (got < 0)
    return static_cast<int>(got);
  moved_ = static_cast<std::size_t>(got);
  return 0;
}

io_result transfer_wait_base::finish(time_point deadline) {
  if (!done_)
    error_ = -transfer(deadline);
  return {moved_, {error_, std::generic_category()}};
}

int socket_listen(std::string_view address, std::uint16_t port, int backlog, owned_source& result) {
  socket_address at;
  if (!parse_address(address, port, at))
    return -EINVAL;
  const int descriptor = socket_make(at);
  if (descriptor < 0)
    return descriptor;
  owned_source made(descriptor);
  if (const int error = bind_and_listen(descriptor, at, backlog); error != 0)
    return error;
  result = std::move(made);
  return 0;
}

int socket_make(const socket_address& address) noexcept {
  const int family = address.storage.ss_family;
  return call([&] { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP); });
}

int socket_try_connect(int descriptor, const socket_address& to) noexcept {
  const int result = call([&] { return ::connect(descriptor, to.get(), to.size); });
  switch (result) {
    case -EISCONN:
      return 0;
    case -EINPROGRESS:
    case -EALREADY:
      return -EAGAIN;
    default:
      return result;
  }
}

int socket_no_delay(int descriptor, bool on) noexcept {
  return set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
}

int socket_prepare_stream(int descriptor) noexcept {
  int type = 0;
  if (const int error = get_option(descriptor, SO_TYPE, type); error != 0)
    return error;
  if (type != SOCK_STREAM)
    return -EPROTOTYPE;
  int listens = 0;
  if (const int error = get_option(descriptor, SO_ACCEPTCONN, listens); error != 0)
    return error;
  if (listens != 0)
    return -EINVAL;
  const int flags = call([&] { return ::fcntl(descriptor, F_GETFL); });
  return flags < 0 ? flags : call([&] { return ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK); });
}

void io_throw(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), std::string("sennit: ") + what);
}

void io_throw_written(int error, std::size_t written) {
  throw write_error({error, std::generic_category()}, "sennit: write", written);
}

void io_throw(std::error_code error, const char* what, std::string_view host, std::uint16_t port) {
  std::string text =
      std::string("sennit: ") + what + ' ' + std::string(host) + " port " + std::to_string(port);
  socket_address ignored;
  if (error == std::errc::invalid_argument && !parse_address(host, port, ignored))
    text += " (not a numeric IPv4 or IPv6 address; names are not looked up)";
  throw std::system_error(error, text);
}

}  // namespace sennit::inline v0_1::detail
