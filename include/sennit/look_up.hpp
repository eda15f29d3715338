// sennit::look_up: the addresses of a host, while only the calling fiber waits.
// room: io
//
//   for (const std::string& address : sennit::look_up("debian.org"))
//     std::cout << address << '\n';  // "2001:67c:2564:a119::77"
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sennit/detail/timer/chrono.hpp"
#include "sennit/no_deadline.hpp"

namespace sennit::inline v0_1 {

/// The category of the resolver's errors. Its codes are those of getaddrinfo (EAI_NONAME, EAI_AGAIN, ...).
const std::error_category& lookup_category() noexcept;

/// Looks up the numeric addresses of a host, IPv4 and IPv6, in the order in which to try them (RFC 6724).
/// They fit tcp_stream::connect(). The system's resolver (getaddrinfo) finds them in files, by DNS, or as
/// the machine is configured.
///
/// The resolver runs on a thread of a pool for look-ups, which has at most offload_threads() threads
/// (offload.hpp). A look-up that misses its deadline occupies its thread until the resolver returns. While
/// all threads of the pool are busy, further look-ups wait in order. Files and offload() have other
/// threads, and do not wait for look-ups. Outside of fibers it blocks the thread.
///
/// \throws std::system_error with a code of lookup_category(), or std::errc::timed_out if the deadline
///   passed first
std::vector<std::string> look_up(std::string_view host,
                                 std::chrono::steady_clock::time_point deadline = no_deadline);
/// Like look_up(), but sets `error` instead of throwing `std::system_error`, and then returns no address.
std::vector<std::string> look_up(std::string_view host, std::error_code& error,
                                 std::chrono::steady_clock::time_point deadline = no_deadline);

}  // namespace sennit::inline v0_1
