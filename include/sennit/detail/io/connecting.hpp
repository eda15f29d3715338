// A connect whose fiber has no stack while it waits: for a name's addresses, and for the peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/io/offload.hpp"
#include "sennit/detail/io/source.hpp"
#include "sennit/detail/sched/continuation.hpp"

namespace sennit::inline v0_1::detail {

// Does what socket_connect() does. Waits refer to it, so it exists until complete() is called; a derived
// class may destroy it there. If the runtime ends first, its destructor closes what was opened.
class connecting {
public:
  connecting(std::string_view host, std::uint16_t port, time_point deadline)
      : host_(host), port_(port), deadline_(deadline) {}
  connecting(const connecting&) = delete;
  connecting& operator=(const connecting&) = delete;

  // In the fiber that is the connect: its continuation.
  continuation begin();

protected:
  virtual ~connecting();
  // The fiber's last step.
  virtual continuation complete(std::error_code error) = 0;
  owned_source& result() noexcept { return source_; }

private:
  template <class Step>
  continuation step(Step next);
  continuation looked_up(int failed);
  continuation ready(bool in_time);
  // Each returns a wait, or nothing: then it is over, with success or with `error`.
  continuation try_addresses(std::error_code& error);
  continuation wait_for_peer();
  int begin_attempt(const std::string& address);
  int go_on(bool in_time);

  const std::string host_;
  const std::uint16_t port_;
  const time_point deadline_;
  time_point until_ = never;  // of this attempt
  owner<offload_job> look_up_;
  std::vector<std::string> addresses_;
  std::size_t tried_ = 0;  // of them
  owned_source source_;
};

}  // namespace sennit::inline v0_1::detail
