// The parts of a connect: its system calls (socket.cpp), and the look-up of a name (look_up.cpp).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "address.hpp"
#include "sennit/detail/io/offload.hpp"

namespace sennit::inline v0_1::detail {

// A file descriptor, or an errno, negated.
int socket_make(const socket_address& address) noexcept;
// The first call starts the connect; later calls ask for its result. -EAGAIN: not yet.
int socket_try_connect(int descriptor, const socket_address& to) noexcept;

// Returns null, and sets `error`, if no host has such a name. Throws std::bad_alloc.
std::unique_ptr<offload_job> look_up_job(std::string_view host, std::error_code& error);
// The result of such a job, which has returned.
std::vector<std::string> looked_up(offload_job& job, std::error_code& error) noexcept;

}  // namespace sennit::inline v0_1::detail
