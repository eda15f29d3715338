// sennit::local::scope: fibers of a local runtime that end before a block does.
// room: sync
//
//   {
//     sennit::local::scope scope;
//     for (const std::string& host : hosts)
//       scope.spawn([&] { fetch(host); });
//   }  // all have ended; if one threw, the others were stopped, and its exception comes out here
#pragma once

#include <utility>

#include "sennit/detail/sync/basic_scope.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/local/wait_group.hpp"

namespace sennit::detail {
struct local_scope {
  static constexpr auto tells = stop_link::thread::own;
  using spawn_options = local::spawn_options;
  using wait_group = local::wait_group;
  template <class Function>
  static auto spawn(Function&& function, const spawn_options& options) {
    return local::spawn(std::forward<Function>(function), options);
  }
  static auto spawn(continuation begins) { return local::spawn(std::move(begins)); }
};
}  // namespace sennit::detail

namespace sennit::local {

class exception_server;

// As sennit::scope, whose header says what its members do; its owner and all its fibers are fibers of one
// local runtime. get_token() and request_stop() are for any thread here, too.
class scope : public detail::basic_scope<detail::local_scope> {
public:
  scope() = default;
  explicit scope(exception_server& faults);
};

}  // namespace sennit::local
