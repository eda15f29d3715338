#include "address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace sennit::inline v0_1::detail {

namespace {

// An interface's name or number.
bool parse_scope(const char* text, std::uint32_t& scope) noexcept {
  scope = ::if_nametoindex(text);
  if (scope != 0)
    return true;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, scope);
  return error == std::errc() && rest == end;
}

}  // namespace

bool parse_address(std::string_view text, std::uint16_t port, socket_address& result) noexcept {
  char copy[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
  if (text.empty() || text.size() >= sizeof copy)
    return false;
  copy[text.copy(copy, text.size())] = 0;

  auto& four = reinterpret_cast<sockaddr_in&>(result.storage);
  if (::inet_pton(AF_INET, copy, &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    result.size = sizeof four;
    return true;
  }

  auto& six = reinterpret_cast<sockaddr_in6&>(result.storage);
  if (char* scope = std::strchr(copy, '%')) {
    *scope++ = 0;
    if (!parse_scope(scope, six.sin6_scope_id))
      return false;
  }
  if (::inet_pton(AF_INET6, copy, &six.sin6_addr) != 1)
    return false;
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  result.size = sizeof six;
  return true;
}

}  // namespace sennit::inline v0_1::detail
