// Accepting connections, also when file descriptors have run out.
#include "sennit/detail/io/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "attempt.hpp"
#include "sennit/detail/io/accept_wait.hpp"
#include "sennit/detail/io/socket.hpp"

namespace sennit::inline v0_1::detail {

namespace {

constexpr io_direction accept_direction = reading_for("socket accept");
constexpr auto retry_interval = std::chrono::milliseconds(50);

int take_reserve() noexcept {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// Errors of one connection, which accept reports instead of it (accept(2), "Error handling"): not ours.
bool of_one_connection(int error) noexcept {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case ENETDOWN:
    case EPROTO:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

[[gnu::noinline]] ssize_t accept_once(int descriptor) noexcept {
  for (;;) {
    const int got = ::accept4(descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (got >= 0)
      return got;
    if (!of_one_connection(errno))
      return -errno;
  }
}

bool ran_out(ssize_t error) noexcept {
  return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

// No file descriptor is left: takes the connection that waits longest with the reserve's, and closes it.
// Returns 0, -EAGAIN when none waits (any more), or why it could not be done.
int refuse_one(listener& l) noexcept {
  if (l.reserve >= 0)
    ::close(std::exchange(l.reserve, -1));
  const auto got = static_cast<int>(accept_once(l.source.get()->descriptor));
  if (got >= 0) {
    ++l.refused;  // before the client learns of it
    ::close(got);
  }
  l.reserve = take_reserve();
  return std::min(got, 0);
}

// An operation on the listener that has begun.
ssize_t accept_in(listener& from, io_source& source, time_point deadline) {
  for (;;) {
    bool refused = false;
    const ssize_t got = io_step(source, accept_direction, deadline, [&](io_source& s, auto) -> ssize_t {
      const ssize_t accepted = accept_once(s.descriptor);
      if (!ran_out(accepted))
        return accepted;
      // accept wants a file descriptor before it looks whether a connection waits. EAGAIN: none did.
      const int error = refuse_one(from);
      refused = error == 0;
      return refused ? accepted : error;
    });
    if (!refused && !ran_out(got))
      return got;
    if (source.closed())
      return -ECANCELED;
    if (refused)
      continue;
    // A connection that comes meanwhile ends the wait too.
    const time_point retry = clock::now() + retry_interval;
    const int error = io_await(source, {accept_direction.side, accept_direction.use, "file descriptors"},
                               std::min(retry, deadline), [] { return 0; });
    if (error != 0 && !(error == -ETIMEDOUT && retry < deadline))
      return error;
  }
}

}  // namespace

listener::~listener() {
  if (reserve >= 0)
    ::close(reserve);
}

int listener_open(std::string_view address, std::uint16_t port, int backlog, owner<listener>& result) {
  owner<listener> made(new listener);
  if (const int error = socket_listen(address, port, backlog, made->source); error != 0)
    return error;
  made->reserve = take_reserve();
  if (made->reserve < 0)
    return -errno;
  result = std::move(made);
  return 0;
}

int listener_accept(listener* from, time_point deadline) {
  if (from == nullptr)
    return -EBADF;
  return static_cast<int>(io_whole(from->source.get(), accept_direction,
                                   [&](io_source& source) { return accept_in(*from, source, deadline); }));
}

// Returns false if no connection has come yet. If the caller cannot try to accept, finish() does.
bool accept_wait::is_over() noexcept {
  if (!begun() || source()->closed() || source()->driver.load(std::memory_order_relaxed) == 0)
    return true;
  const std::uintptr_t events = side().look();
  const ssize_t got = accept_once(source()->descriptor.load(std::memory_order_relaxed));
  if (got == -EAGAIN) {
    side().last_seen_event = events;
    return false;
  }
  if (!ran_out(got))
    result_ = static_cast<int>(got);
  return true;
}

int accept_wait::finish() {
  if (result_ != nothing_yet)
    return result_;
  if (source() == nullptr)
    return -EBADF;
  if (const int error = begin(io_is_shared()); error != 0)
    return error;
  return source()->closed() ? -ECANCELED : static_cast<int>(accept_in(*from_, *source(), never));
}

std::uint16_t listener_port(const listener& of) noexcept {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  const int result = with_descriptor(of.source.get(), [&](int socket) {
    return ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size);
  });
  if (result != 0)
    return 0;
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(at).sin6_port
                                        : reinterpret_cast<const sockaddr_in&>(at).sin_port);
}

}  // namespace sennit::inline v0_1::detail
