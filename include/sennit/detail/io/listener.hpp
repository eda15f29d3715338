// A listening socket, and what keeps it working when file descriptors run out.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/io/source.hpp"

namespace sennit::inline v0_1::detail {

struct listener {
  owned_source source;
  int reserve = -1;  // a file descriptor to give up when there are no others; -1: it is lost
  std::atomic<std::uint64_t> refused{0};  // connections closed for want of a file descriptor

  listener() = default;
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
};
inline void destroy_owned(listener* object) noexcept {
  delete object;
}

// Results as in socket.hpp: an errno, negated; listener_accept: or a file descriptor.
int listener_open(std::string_view address, std::uint16_t port, int backlog, owner<listener>& result);
int listener_accept(listener* from, time_point deadline);
std::uint16_t listener_port(const listener& of) noexcept;

}  // namespace sennit::inline v0_1::detail
