// Connecting, with a stack and without one.
#include "connect.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include "attempt.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/io/connecting.hpp"
#include "sennit/detail/io/offload_wait.hpp"
#include "sennit/detail/io/ready_wait.hpp"
#include "sennit/detail/io/socket.hpp"
#include "sennit/look_up.hpp"

namespace sennit::inline v0_1::detail {

namespace {

constexpr io_direction connect_direction = writing_for("socket connect");

// A source for a socket that is not connected yet. Returns 0, or an errno, negated.
int open_for(const socket_address& to, owned_source& result) {
  const int descriptor = socket_make(to);
  if (descriptor < 0)
    return descriptor;
  owned_source made(descriptor);
  if (const int error = socket_no_delay(descriptor, true); error != 0)
    return error;
  result = std::move(made);
  return 0;
}

int wait_on_stack(io_source& source, const socket_address& to, time_point deadline) {
  return static_cast<int>(
      io_attempt(&source, connect_direction, deadline,
                 [&](io_source& s, auto) -> ssize_t { return socket_try_connect(s.descriptor, to); }));
}

int connect_to(const socket_address& to, time_point deadline, owned_source& result) {
  owned_source made;
  int error = open_for(to, made);
  if (error == 0)
    error = wait_on_stack(*made.get(), to, deadline);
  if (error == 0)
    result = std::move(made);
  return error;
}

// Until when the first of `count` attempts may take: an equal share of the time that is left.
time_point share_of(time_point deadline, std::size_t count) noexcept {
  if (deadline == never)
    return never;
  const time_point now = clock::now();
  return deadline <= now ? deadline : now + (deadline - now) / static_cast<clock::rep>(count);
}

}  // namespace

std::error_code socket_connect(std::string_view host, std::uint16_t port, time_point deadline,
                               owned_source& result) {
  socket_address to;
  if (parse_address(host, port, to))
    return io_error(connect_to(to, deadline, result));
  std::error_code error;
  const std::vector<std::string> addresses = look_up(host, error, deadline);
  std::size_t left = addresses.size();
  for (const std::string& address : addresses) {
    const time_point until = share_of(deadline, left--);
    if (!parse_address(address, port, to))
      continue;
    error = io_error(connect_to(to, until, result));
    if (!error)
      break;
  }
  return error;
}

connecting::~connecting() = default;

// Calls next(error), which returns a wait, or nothing.
template <class Step>
continuation connecting::step(Step next) {
  std::error_code error;
  try {
    if (continuation wait = next(error))
      return wait;
  } catch (const std::bad_alloc&) {
    error = std::make_error_code(std::errc::not_enough_memory);
  }
  return complete(error);
}

continuation connecting::begin() {
  return step([this](std::error_code& error) -> continuation {
    if (socket_address numeric; parse_address(host_, port_, numeric)) {
      addresses_.push_back(host_);
      return try_addresses(error);
    }
    look_up_ = owner<offload_job>(look_up_job(host_, error).release());
    if (!look_up_)
      return {};
    return block(
        timed_wait(offload_wait(look_up_), deadline_), [this](int failed) { return looked_up(failed); },
        no_state{});
  });
}

continuation connecting::looked_up(int failed) {
  return step([this, failed](std::error_code& error) -> continuation {
    error = io_error(failed);
    if (!error)
      addresses_ = detail::looked_up(*look_up_, error);
    look_up_ = owner<offload_job>();
    return error ? continuation() : try_addresses(error);
  });
}

continuation connecting::try_addresses(std::error_code& error) {
  while (tried_ < addresses_.size()) {
    until_ = share_of(deadline_, addresses_.size() - tried_);
    const int result = begin_attempt(addresses_[tried_++]);
    if (result == -EAGAIN)
      return wait_for_peer();
    error = io_error(result);
    if (!error)
      break;
  }
  return {};
}

int connecting::begin_attempt(const std::string& address) {
  source_ = owned_source();
  socket_address to;
  if (!parse_address(address, port_, to))
    return -EADDRNOTAVAIL;
  const int error = open_for(to, source_);
  return error != 0 ? error : socket_try_connect(source_.descriptor(), to);
}

continuation connecting::wait_for_peer() {
  return block(
      timed_wait(ready_wait<false>(source_.get()), until_), [this](bool in_time) { return ready(in_time); },
      no_state{});
}

continuation connecting::ready(bool in_time) {
  return step([this, in_time](std::error_code& error) -> continuation {
    const int result = go_on(in_time);
    if (result == -EAGAIN)
      return wait_for_peer();
    error = io_error(result);
    return error ? try_addresses(error) : continuation();
  });
}

// The last attempt comes after the deadline, as with a stack. A socket that no driver can watch is waited for
// with a stack, which reports that.
int connecting::go_on(bool in_time) {
  socket_address to;
  parse_address(addresses_[tried_ - 1], port_, to);
  const int result = socket_try_connect(source_.descriptor(), to);
  if (result != -EAGAIN)
    return result;
  if (!in_time)
    return -ETIMEDOUT;
  return source_.get()->driver.load(std::memory_order_relaxed) == 0
             ? wait_on_stack(*source_.get(), to, until_)
             : -EAGAIN;
}

}  // namespace sennit::inline v0_1::detail
