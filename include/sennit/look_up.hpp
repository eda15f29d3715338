// sennit::look_up: the addresses of a host, while only the calling fiber waits.
// room: io
//
//   for (const std::string& address : sennit::look_up("debian.org"))
//     std::cout << address << '\n';  // "2001:67c:2564:a119::77"
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sennit/no_deadline.hpp"

namespace sennit {

// What the resolver says of names: its codes are those of getaddrinfo (EAI_NONAME, EAI_AGAIN, ...).
const std::error_category& lookup_category() noexcept;

// Numeric addresses, IPv4 and IPv6, in the order in which they are to be tried (RFC 6724), for
// tcp_stream::connect. The system's resolver is asked (getaddrinfo: files, DNS, whatever the machine is set
// up for) on a thread of the pool, see sennit::offload. Errors: lookup_category; std::errc::timed_out, when
// the deadline (steady clock) passes first.
std::vector<std::string> look_up(std::string_view host,
                                 std::chrono::steady_clock::time_point deadline = no_deadline);
std::vector<std::string> look_up(std::string_view host, std::error_code& error,
                                 std::chrono::steady_clock::time_point deadline = no_deadline);

}  // namespace sennit
