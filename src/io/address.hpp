// Numeric internet addresses.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string_view>

namespace sennit::inline v0_1::detail {

struct socket_address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

// "127.0.0.1", "::1", "fe80::1%eth0". False: `text` is no such address.
bool parse_address(std::string_view text, std::uint16_t port, socket_address& result) noexcept;

}  // namespace sennit::inline v0_1::detail
