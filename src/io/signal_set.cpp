#include "sennit/signal_set.hpp"

#include "sennit/detail/io/socket.hpp"

namespace sennit::inline v0_1 {

int signal_set::wait(time_point deadline) {
  return static_cast<int>(detail::io_count(subscription_.wait(deadline), "wait for a signal"));
}

int signal_set::wait(std::error_code& error, time_point deadline) {
  return static_cast<int>(detail::io_count(subscription_.wait(deadline), error));
}

}  // namespace sennit::inline v0_1
