// Ports: what does not depend on their types.
#include <system_error>

#include "sennit/detail/rpc/basic_port.hpp"

namespace sennit::inline v0_1::detail {

void throw_answer(call_phase what, std::exception_ptr& error) {
  if (what == call_phase::failed)
    std::rethrow_exception(std::move(error));
  if (what == call_phase::closed)
    throw std::system_error(std::make_error_code(std::errc::broken_pipe), "sennit: call: the port is closed");
  if (what == call_phase::too_large)
    throw std::system_error(std::make_error_code(std::errc::message_size),
                            "sennit: call: the request is larger than its receiver wants");
  if (what == call_phase::late)
    throw std::system_error(std::make_error_code(std::errc::timed_out),
                            "sennit: call: the deadline has passed");
  if (what == call_phase::stopped)
    throw std::system_error(std::make_error_code(std::errc::operation_canceled),
                            "sennit: call: a stop was requested");
  throw std::system_error(std::make_error_code(std::errc::connection_reset),
                          "sennit: call: the server has ended, or dropped the request, without an answer");
}

void throw_sending(call_phase what) {
  std::exception_ptr none;
  throw_answer(what, none);
}

}  // namespace sennit::inline v0_1::detail
