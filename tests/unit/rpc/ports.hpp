// Common parts of the tests of ports.
#pragma once

#include <system_error>

#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace sennit {

// The code of the std::system_error that `what` throws, or none.
template <class What>
std::error_condition error_of(What what) {
  try {
    what();
  } catch (const std::system_error& error) {
    return error.code().default_error_condition();
  }
  return {};
}
inline const std::error_condition closed_error = make_error_condition(std::errc::broken_pipe);
inline const std::error_condition dropped_error = make_error_condition(std::errc::connection_reset);

template <class Kind>
class port_test : public kind_test<Kind> {
public:
  using numbers = typename Kind::template port<int, int>;

  // Serve by doubling.
  static typename Kind::fiber serve(numbers& port) {
    return Kind::spawn([&port] { port.serve([](int x) { return 2 * x; }); });
  }
  static continuation answer_and_go_on(numbers* port, typename numbers::incoming next) {
    if (!next)
      return {};
    next.reply(2 * *next);
    return become(port->receiving(), answer_and_go_on, port);
  }
  static typename Kind::fiber serve_without_a_stack(numbers& port) {
    return Kind::spawn(become(port.receiving(), answer_and_go_on, &port));
  }
};

}  // namespace sennit
