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

// Returns the numeric addresses of a host, IPv4 and IPv6, in the order in which to try them (RFC 6724), for
// tcp_stream::connect. The system's resolver (getaddrinfo) finds them in files, by DNS, or wherever the
// machine is set up to look. Errors: lookup_category; std::errc::timed_out when the deadline (steady clock)
// passes first.
//
// The resolver runs on a thread of the look-ups' own pool, of at most offload_threads() threads
// (offload.hpp). A look-up that misses its deadline keeps its thread until the resolver returns. While all
// threads of the pool are busy, further look-ups wait in order. Files and offload() have other threads, and
// do not wait for look-ups.
std::vector<std::string> look_up(std::string_view host,
                                 std::chrono::steady_clock::time_point deadline = no_deadline);
std::vector<std::string> look_up(std::string_view host, std::error_code& error,
                                 std::chrono::steady_clock::time_point deadline = no_deadline);

}  // namespace sennit
